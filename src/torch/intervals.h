// Intervals of time, half open, in whole ns: how long is a union, what do two unions share? (spec
// traces 2.1; sort by start, merge where the next one begins at or before the end; two pointers for
// the intersection.)
//
//   a = unite({[0, 10), [10, 20), [30, 40)}) = {[0, 20), [30, 40)};  length(a) == 30
//   shared_length(a, unite({[15, 35)})) == 10
#pragma once

#include <cstdint>
#include <vector>

namespace comm_probe::torch {

struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end - start; }
  bool operator==(const Interval&) const = default;
};
// Sorted, without overlap, none empty.
using Intervals = std::vector<Interval>;

// In any order; empty ones vanish.
Intervals unite(Intervals intervals);
std::int64_t length(const Intervals& intervals);
Intervals intersect(const Intervals& a, const Intervals& b);
Intervals subtract(const Intervals& a, const Intervals& b);  // what of a is not in b
std::int64_t shared_length(const Intervals& a, const Intervals& b);
// The part inside of a window.
Intervals clip(const Intervals& intervals, Interval window);

}  // namespace comm_probe::torch
