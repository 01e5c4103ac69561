// The time of an operation as a function of the bytes it touches, where a machine answers
// differently from every level of its caches: measured points, a straight line between two of them
// in log-log, so that bytes per second change gradually from level to level.
//
//   below the first point   the time of the first (a latency)
//   above the last          at the last point's bytes per second
//   never falling           a point that is faster than a smaller one gets the smaller one's time
//
// Worked example (tests/unit/model): 1 KiB in 1 us and 4 KiB in 4 us: 2 KiB take 2 us, 8 KiB 8 us.
#pragma once

#include <vector>

#include "core/quantity.h"

namespace comm_probe::model {

class TimeCurve {
 public:
  struct Point {
    core::Bytes bytes = {};
    core::Duration time = {};
  };
  TimeCurve() = default;
  // Points of rising bytes above zero and times above zero; others are left out.
  explicit TimeCurve(const std::vector<Point>& points);

  bool is_empty() const { return points_.empty(); }
  // Zero for no bytes and for an empty curve.
  core::Duration at(core::Bytes bytes) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_ = {};
};

}  // namespace comm_probe::model
