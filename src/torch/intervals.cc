#include "torch/intervals.h"

#include <algorithm>

namespace comm_probe::torch {

Intervals unite(Intervals intervals) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier))
    std::sort(intervals.begin(), intervals.end(), earlier);
  std::size_t size = 0;
  for (const Interval& one : intervals) {
    if (one.end <= one.start) continue;
    if (size > 0 && one.start <= intervals[size - 1].end)
      intervals[size - 1].end = std::max(intervals[size - 1].end, one.end);
    else
      intervals[size++] = one;
  }
  intervals.resize(size);
  return intervals;
}

std::int64_t length(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const Interval& one : intervals) sum += one.length();
  return sum;
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals shared;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const Interval both{std::max(a[i].start, b[k].start), std::min(a[i].end, b[k].end)};
    if (both.start < both.end) shared.push_back(both);
    if (a[i].end < b[k].end)
      ++i;
    else
      ++k;
  }
  return shared;
}

Intervals subtract(const Intervals& a, const Intervals& b) {
  Intervals rest;
  std::size_t k = 0;
  for (Interval one : a) {
    while (k < b.size() && b[k].end <= one.start) ++k;
    for (std::size_t m = k; m < b.size() && b[m].start < one.end; ++m) {
      if (b[m].start > one.start) rest.push_back({one.start, b[m].start});
      one.start = std::max(one.start, b[m].end);
    }
    if (one.start < one.end) rest.push_back(one);
  }
  return rest;
}

std::int64_t shared_length(const Intervals& a, const Intervals& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum +=
        std::max<std::int64_t>(0, std::min(a[i].end, b[k].end) - std::max(a[i].start, b[k].start));
    if (a[i].end < b[k].end)
      ++i;
    else
      ++k;
  }
  return sum;
}

Intervals clip(const Intervals& intervals, Interval window) {
  return window.start < window.end ? intersect(intervals, {window}) : Intervals{};
}

}  // namespace comm_probe::torch
