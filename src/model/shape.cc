#include "model/shape.h"

#include <algorithm>
#include <cmath>

namespace comm_probe::model {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;
using Points = std::vector<ShapePoint>;

// name, value, applies when, source. "Curves" are the 86 public tables of the field data: each
// limit stands in a gap of their values.
constexpr double kColdRatio = 2.0;   // first row over the next ones: c06 5.9, c13 25; others < 1.6
constexpr double kComparable = 64;   // sizes further apart differ by more than a cold start
constexpr double kHumpRatio = 1.15;  // over a larger size: repeats of one size differ by < 5 %
constexpr double kDropRatio = 0.85;  // the same seen from the other side
constexpr double kJumpRatio = 1.25;  // over growth with the size: healthy curves stay below 1.1
constexpr double kWidestStep = 16;   // sizes further apart say nothing about a step
constexpr double kCollapseShare = 0.8;  // f02 0.18, c71 0.18, c41 0.75; healthy 0.95 and more
constexpr double kCollapseFrom =
    1048576;  // bytes; below it busbw is a matter of latency and caches
constexpr double kCollapseShareOfOne = 0.5;  // a single row may be an accident (c65: 0.72)
constexpr double kDisagreeRatio = 1.3;       // two timings of one size: c13 in 19 of 29 sizes
constexpr int kLeastDisagreeing = 5;
constexpr double kJitterShare = 0.25;
constexpr double kReached = 0.9;
constexpr double kLeftTransferShare =
    0.25;  // growth over the first three sizes that is still latency

template <class T>
T median(std::vector<T> values) {
  COMM_PROBE_CHECK(!values.empty(), "median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Points usable_by_size(std::span<const ShapePoint> points) {
  Points usable;
  for (const ShapePoint& point : points)
    if (point.bytes.count() > 0 && point.time.in_seconds() > 0) usable.push_back(point);
  for (ShapePoint& point : usable)
    if (point.again && point.again->in_seconds() <= 0) point.again.reset();
  std::stable_sort(usable.begin(), usable.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return usable;
}

int cold_rows(const Points& points) {
  constexpr std::size_t kMostCold = 2;
  for (std::size_t cold = std::min(kMostCold, points.size() / 3); cold > 0; --cold) {
    std::vector<Duration> after;
    for (std::size_t i = cold; i < std::min(points.size(), cold + 3); ++i)
      if (points[i].bytes <= points[cold - 1].bytes * kComparable)
        after.push_back(points[i].better());
    if (!after.empty() && points[cold - 1].time > median(after) * kColdRatio)
      return static_cast<int>(cold);
  }
  return 0;
}

// The first three sizes, as far as they are comparable.
std::span<const ShapePoint> left_points(std::span<const ShapePoint> warm) {
  std::size_t few = std::min<std::size_t>(3, warm.size());
  while (few > 1 && warm[few - 1].bytes > warm.front().bytes * kComparable) --few;
  return warm.first(few);
}

// Whether these sizes are mostly latency: the time grows much less than the size does. A lone small
// size is compared with what the largest size would need for its bytes.
bool is_latency(std::span<const ShapePoint> few, const ShapePoint& largest) {
  const ShapePoint& first = few.front();
  const ShapePoint& last = few.size() > 1 ? few.back() : largest;
  const double sizes = last.bytes / first.bytes;
  if (sizes <= 1) return false;
  if (few.size() > 1) return last.better() / first.better() <= 1 + kLeftTransferShare * (sizes - 1);
  return last.better() / sizes <= first.better() * kLeftTransferShare;
}

std::optional<LeftEnd> left_end_of(std::span<const ShapePoint> warm) {
  const auto few = left_points(warm);
  if (few.empty() || !is_latency(few, warm.back())) return std::nullopt;
  std::vector<Duration> times;
  for (const ShapePoint& point : few) {
    times.push_back(point.time);
    if (point.again) times.push_back(*point.again);
  }
  const auto [fastest, slowest] = std::minmax_element(times.begin(), times.end());
  return LeftEnd{median(times), *fastest, *slowest, few.front().bytes, few.back().bytes};
}

Bandwidth busbw(const ShapePoint& point, Duration time, double share) {
  return point.bytes * share / time;
}

std::optional<double> saturation_of(std::span<const ShapePoint> warm) {
  if (warm.size() < 2) return std::nullopt;
  const ShapePoint& last = warm.back();
  const auto smaller = std::find_if(warm.rbegin(), warm.rend(), [&](const ShapePoint& point) {
    return point.bytes * 1.5 <= last.bytes;
  });
  if (smaller == warm.rend()) return std::nullopt;
  const double r = last.bytes / smaller->bytes;
  const double g = r * (smaller->better() / last.better());
  if (g <= 1) return 1.0;
  return g >= r ? 0.0 : 1 / (1 + (g - 1) / (r - g));
}

std::optional<Plateau> plateau_of(std::span<const ShapePoint> warm, double share) {
  if (warm.empty()) return std::nullopt;
  Plateau plateau;
  for (const ShapePoint& point : warm)
    if (busbw(point, point.time, share) > plateau.peak) {
      plateau.peak = busbw(point, point.time, share);
      plateau.peak_bytes = point.bytes;
    }
  const auto reached = std::find_if(warm.begin(), warm.end(), [&](const ShapePoint& point) {
    return busbw(point, point.time, share) >= plateau.peak * kReached;
  });
  if (reached == warm.end()) return std::nullopt;
  plateau.reached = reached->bytes;
  std::vector<double> rates;
  for (auto point = reached; point != warm.end(); ++point)
    rates.push_back(busbw(*point, point->time, share).in_bytes_per_second());
  if (rates.size() > 3) rates.erase(rates.begin(), rates.end() - 3);
  plateau.sustained = Bandwidth::from_bytes_per_second(median(rates));
  plateau.saturation = saturation_of(warm);
  return plateau;
}

std::vector<Step> steps_of(std::span<const ShapePoint> warm) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i + 1 < warm.size(); ++i) {
    const double sizes = warm[i + 1].bytes / warm[i].bytes;
    if (sizes > kWidestStep || sizes <= 1) continue;
    const double growth = warm[i + 1].better() / warm[i].better();
    const bool jump = growth > kJumpRatio * sizes;
    if (!jump && growth > kDropRatio) continue;
    steps.push_back({jump ? Step::Kind::kJump : Step::Kind::kDrop, warm[i].bytes, warm[i + 1].bytes,
                     warm[i].better(), warm[i + 1].better(), jump ? growth / sizes : growth});
  }
  return steps;
}

// Runs of sizes that take clearly longer than some larger size.
std::vector<Hump> humps_of(std::span<const ShapePoint> warm) {
  std::vector<const ShapePoint*> fastest_after(warm.size(), nullptr);
  for (std::size_t i = warm.size(); i-- > 1;) {
    const ShapePoint* next = fastest_after[i];
    fastest_after[i - 1] = next == nullptr || warm[i].better() < next->better() ? &warm[i] : next;
  }
  std::vector<Hump> humps;
  bool inside = false;
  for (std::size_t i = 0; i + 1 < warm.size(); ++i) {
    const double factor = warm[i].better() / fastest_after[i]->better();
    const bool slower = factor > kHumpRatio && fastest_after[i]->bytes > warm[i].bytes;
    if (slower && !inside) humps.push_back({.first = warm[i].bytes});
    inside = slower;
    if (!slower) continue;
    Hump& hump = humps.back();
    hump.last = warm[i].bytes;
    ++hump.sizes;
    if (factor <= hump.factor) continue;
    hump.factor = factor;
    hump.worst = warm[i].bytes, hump.worst_time = warm[i].better();
    hump.faster = fastest_after[i]->bytes, hump.faster_time = fastest_after[i]->better();
  }
  return humps;
}

std::optional<Collapse> collapse_of(std::span<const ShapePoint> warm, double share) {
  const auto rate = [&](const ShapePoint& point) { return busbw(point, point.better(), share); };
  const auto peak = std::max_element(
      warm.begin(), warm.end(), [&](const auto& a, const auto& b) { return rate(a) < rate(b); });
  if (peak == warm.end() || peak + 1 == warm.end()) return std::nullopt;
  if (peak->bytes.count() < kCollapseFrom) return std::nullopt;
  std::vector<double> after;
  for (auto point = peak + 1; point != warm.end(); ++point)
    after.push_back(rate(*point).in_bytes_per_second());
  const double share_left = median(after) / rate(*peak).in_bytes_per_second();
  if (share_left >= (after.size() > 1 ? kCollapseShare : kCollapseShareOfOne)) return std::nullopt;
  const auto slow = std::find_if(peak + 1, warm.end(), [&](const ShapePoint& point) {
    return rate(point) < rate(*peak) * kCollapseShare;
  });
  return Collapse{peak->bytes, rate(*peak), slow == warm.end() ? (peak + 1)->bytes : slow->bytes,
                  Bandwidth::from_bytes_per_second(median(after)), static_cast<int>(after.size())};
}

std::optional<double> usual_ratio(std::span<const ShapePoint> points) {
  std::vector<double> logs;
  for (const ShapePoint& point : points)
    if (point.again) logs.push_back(std::log(*point.again / point.time));
  if (logs.empty()) return std::nullopt;
  return std::exp(median(logs));
}

// The in-place column may be faster by a steady factor; a factor that fits fewer than half of the
// sizes within 10 % is not steady.
double steady_ratio(std::span<const ShapePoint> warm) {
  const double usual = usual_ratio(warm).value_or(1);
  std::ptrdiff_t compared = 0, near = 0;
  for (const ShapePoint& point : warm) {
    if (!point.again) continue;
    ++compared;
    near += std::abs(std::log(*point.again / point.time / usual)) < std::log(1.1) ? 1 : 0;
  }
  return 2 * near >= compared ? usual : 1;
}

std::optional<Jitter> jitter_of(std::span<const ShapePoint> warm) {
  const double usual = steady_ratio(warm);
  Jitter jitter;
  for (const ShapePoint& point : warm) {
    if (!point.again) continue;
    ++jitter.compared;
    const double ratio = *point.again / point.time / usual;
    if (std::max(ratio, 1 / ratio) <= kDisagreeRatio) continue;
    const auto [low, high] = std::minmax(point.time, *point.again);
    jitter.fastest = jitter.disagreeing == 0 ? low : std::min(jitter.fastest, low);
    jitter.slowest = std::max(jitter.slowest, high);
    ++jitter.disagreeing;
  }
  const bool much = jitter.disagreeing >= kLeastDisagreeing &&
                    jitter.disagreeing >= kJitterShare * jitter.compared;
  return much ? std::optional(jitter) : std::nullopt;
}

std::optional<double> again_ratio_of(std::span<const ShapePoint> warm, const Shape& shape) {
  if (!shape.plateau) return usual_ratio(warm);
  const auto first = std::find_if(warm.begin(), warm.end(), [&](const ShapePoint& point) {
    return point.bytes >= shape.plateau->reached;
  });
  const auto wide = warm.subspan(static_cast<std::size_t>(first - warm.begin()));
  const auto ratio = usual_ratio(wide);
  return ratio ? ratio : usual_ratio(warm);
}

}  // namespace

const char* step_kind_name(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kJump:
      return "jump";
    case Step::Kind::kDrop:
      return "drop";
  }
  return "?";
}

Shape describe_shape(std::span<const ShapePoint> points, double wire_share) {
  const Points usable = usable_by_size(points);
  Shape shape;
  shape.cold_rows = cold_rows(usable);
  const auto warm =
      std::span<const ShapePoint>(usable).subspan(static_cast<std::size_t>(shape.cold_rows));
  shape.left_end = left_end_of(warm);
  shape.plateau = plateau_of(warm, wire_share);
  shape.jitter = jitter_of(warm);
  if (!shape.jitter) {  // where timings disagree, a step or a hump cannot be told from them
    shape.steps = steps_of(warm);
    shape.humps = humps_of(warm);
  }
  shape.collapse = collapse_of(warm, wire_share);
  shape.again_ratio = again_ratio_of(warm, shape);
  return shape;
}

}  // namespace comm_probe::model
