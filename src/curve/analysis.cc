#include "curve/analysis.h"

#include <algorithm>

namespace comm_probe::curve {
namespace {

constexpr double kHalfDigit = 0.005;    // nccl-tests prints bandwidths with two decimals
constexpr double kLeastPrinted = 0.05;  // below it rounding hides the factor
constexpr double kWellPrinted = 1.0;    // GB/s from which the factor is good to one percent

std::vector<model::ShapePoint> points_of(const Curve& curve, bool in_place_only) {
  std::vector<model::ShapePoint> points;
  for (const Row& row : curve.rows) {
    const auto& first = in_place_only ? row.in_place : row.out_of_place;
    if (!has_time(first) || row.bytes.count() <= 0) continue;
    model::ShapePoint point{row.bytes, first->time, {}};
    if (!in_place_only && has_time(row.in_place)) point.again = row.in_place->time;
    points.push_back(point);
  }
  return points;
}

model::FitShape shape_of(const Curve& curve, double wire_share) {
  if (curve.op && curve.ranks.value_or(0) >= 2) return model::ring_shape(*curve.op, *curve.ranks);
  return {1, wire_share};
}

}  // namespace

bool is_usable(const Timing& timing) {
  return timing.time.in_seconds() >= 1e-10 && timing.time.in_seconds() <= 1e9;
}

bool has_time(const std::optional<Timing>& timing) { return timing && is_usable(*timing); }

std::optional<PrintedFactor> printed_factor(const Timing& timing) {
  const double algbw = timing.algbw.in_GBps(), busbw = timing.busbw.in_GBps();
  if (algbw < kLeastPrinted) return std::nullopt;
  return PrintedFactor{std::max(0.0, busbw - kHalfDigit) / (algbw + kHalfDigit),
                       (busbw + kHalfDigit) / (algbw - kHalfDigit)};
}

std::optional<double> typical_factor(const Curve& curve) {
  std::vector<double> factors;
  for (const Row& row : curve.rows)
    for (const auto* timing : {&row.out_of_place, &row.in_place})
      if (*timing && (*timing)->algbw.in_GBps() >= kWellPrinted)
        factors.push_back((*timing)->busbw / (*timing)->algbw);
  if (factors.empty()) return std::nullopt;
  std::sort(factors.begin(), factors.end());
  return factors[factors.size() / 2];
}

core::Bandwidth Analysis::busbw(core::Bytes bytes, core::Duration time) const {
  return bytes * wire_share / time;
}

Analysis analyse(const Curve& curve) {
  Analysis analysis;
  if (curve.op && curve.ranks.value_or(0) >= 2) {
    analysis.wire_share = model::busbw_factor(*curve.op, *curve.ranks);
    analysis.share_known = true;
  } else if (const auto factor = typical_factor(curve); factor && *factor > 0) {
    analysis.wire_share = *factor;
    analysis.share_known = true;
  }
  analysis.in_place_only = std::none_of(curve.rows.begin(), curve.rows.end(),
                                        [](const Row& row) { return has_time(row.out_of_place); });
  analysis.points = points_of(curve, analysis.in_place_only);
  analysis.shape = model::describe_shape(analysis.points, analysis.wire_share);
  const auto& collapse = analysis.shape.collapse;
  std::vector<model::FitPoint> fit_points;
  for (const auto& point : analysis.points)  // what follows a collapse is not on any line
    if (!collapse || point.bytes <= collapse->peak_bytes)
      fit_points.push_back({point.bytes, point.time});
  analysis.fit = model::fit_line(fit_points, shape_of(curve, analysis.wire_share));
  return analysis;
}

}  // namespace comm_probe::curve
