// What the numbers of a table imply about the number of ranks, within the precision they are
// printed with.
#pragma once

#include <optional>
#include <string_view>

#include "curve/curve.h"

namespace comm_probe::curve {

// busbw / algbw of all rows together: each row bounds it from both sides.
struct FactorRange {
  double low = 0;
  double high = 1e9;
  bool seen = false;  // at least one row was precise enough to bound it
  bool is_consistent() const { return seen && low <= high; }
};
FactorRange factor_range(const Curve& curve);

// bytes / (count * bytes per element): the number of ranks where `count` is the share of one rank,
// 1 where it is the whole message. Nothing where rows disagree, types are unknown or all sizes are
// 0.
std::optional<int> bytes_per_count(const Curve& curve);

// A name of a type as benchmarks print it, or its beginning where the text was cut in it.
bool may_be_type(std::string_view word);

// The only number of ranks whose busbw factor is in the range; nothing where several fit or none.
std::optional<int> ranks_from_factor(model::Op op, const FactorRange& range);
bool fits(model::Op op, int ranks, const FactorRange& range);

}  // namespace comm_probe::curve
