#include "model/working_set.h"

#include <algorithm>
#include <cmath>

namespace comm_probe::model {

TimeCurve::TimeCurve(const std::vector<Point>& points) {
  for (const Point& point : points) {
    const bool is_usable = point.bytes.count() > 0 && point.time.in_seconds() > 0 &&
                           (points_.empty() || point.bytes > points_.back().bytes);
    if (!is_usable) continue;
    points_.push_back(point);
    if (points_.size() > 1)
      points_.back().time = std::max(point.time, points_[points_.size() - 2].time);
  }
}

core::Duration TimeCurve::at(core::Bytes bytes) const {
  if (points_.empty() || bytes.count() <= 0) return {};
  if (bytes <= points_.front().bytes) return points_.front().time;
  const Point& last = points_.back();
  if (bytes >= last.bytes) return last.time * (bytes / last.bytes);
  const auto above = std::find_if(points_.begin(), points_.end(),
                                  [bytes](const Point& point) { return point.bytes > bytes; });
  const Point& high = *above;
  const Point& low = *(above - 1);
  const double share = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  return low.time * std::pow(high.time / low.time, share);
}

}  // namespace comm_probe::model
