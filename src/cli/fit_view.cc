#include "cli/fit_view.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Json;

// NCCL 2.28 prices the shortest step, LL over NVLink, with 0.6 us (spec nccl-5-tuning).
// Ranks on one host (our local engine) step faster, but not through so many ranks.
const core::Duration kLeastStep = core::Duration::from_us(0.6);
constexpr double kManySteps = 30;

Json known(bool is_known, double value) {
  return is_known ? core::json_number(value) : Json(nullptr);
}

}  // namespace

Json fit_json(const model::Fit& fit, const std::optional<model::Plateau>& plateau) {
  const bool both = fit.latency_known && fit.beta_known;
  return {{"alpha_us", known(fit.latency_known && fit.shape.has_steps, fit.alpha.in_us())},
          {"beta_GBps", known(fit.beta_known, fit.beta.in_GBps())},
          {"knee_bytes", both ? core::json_bytes(fit.knee) : Json(nullptr)},
          {"plateau90_bytes", both ? core::json_bytes(fit.plateau90) : Json(nullptr)},
          {"plateau_busbw_GBps", plateau ? core::json_number(plateau->sustained.in_GBps())
                                         : known(fit.beta_known, fit.beta.in_GBps())},
          {"r2", core::json_number(fit.r2)},
          {"latency_us", known(fit.latency_known, fit.latency.in_us())},
          {"steps", known(fit.shape.has_steps, fit.shape.steps)},
          {"used_points", fit.used},
          {"points", fit.points.size()},
          {"spread", core::json_number(fit.spread)}};
}

core::Table fit_points_table(const model::Fit& fit) {
  core::Table table;
  table.columns = {{"size"}, {"time"}, {"on the line"}, {"off by"}, {"weight"}, {"use"}};
  table.columns.back().align = core::Column::Align::kLeft;
  for (const model::FittedPoint& point : fit.points)
    table.rows.push_back(
        {core::format_bytes(point.point.bytes), core::format_duration(point.point.time),
         core::format_duration(point.predicted), core::format_percent(point.residual),
         core::format_number(point.weight, 2), point_use_name(point.use)});
  return table;
}

namespace {

// Where not all points count: the line holds for the sizes that do.
std::string counted_range(const model::Fit& fit) {
  const model::FittedPoint *first = nullptr, *last = nullptr;
  for (const auto& each : fit.points) {
    if (each.use != model::PointUse::kCounts) continue;
    if (first == nullptr || each.point.bytes < first->point.bytes) first = &each;
    if (last == nullptr || last->point.bytes < each.point.bytes) last = &each;
  }
  if (first == nullptr || fit.used == static_cast<int>(fit.points.size())) return "";
  return fmt::format(" (between {} and {}), the line holds for these only",
                     core::format_bytes(first->point.bytes), core::format_bytes(last->point.bytes));
}

std::string latency_text(const model::Fit& fit) {
  if (!fit.latency_known) return fit.shape.has_steps ? "alpha not shown" : "start not shown";
  if (!fit.shape.has_steps)
    return fmt::format("start {} per call", core::format_duration(fit.latency));
  const std::string steps =
      fit.shape.steps > 1 ? fmt::format(" x {} steps", core::format_number(fit.shape.steps)) : "";
  return "alpha " + core::format_duration(fit.alpha) + steps;
}

}  // namespace

std::string fit_sentence(const model::Fit& fit) {
  const std::string beta =
      fit.beta_known ? "beta " + core::format_bandwidth(fit.beta) : "beta not shown";
  std::string text = latency_text(fit) + ", " + beta;
  if (fit.latency_known && fit.beta_known)
    text += fmt::format("; knee {}, 90 % at {}", core::format_bytes(fit.knee),
                        core::format_bytes(fit.plateau90));
  if (fit.latency_known && fit.shape.steps >= kManySteps && fit.alpha < kLeastStep)
    text += "; no link has so short a step: small sizes take fewer steps than a ring (a tree)";
  return fmt::format("{}; {} of {} points count{}, r2 {}", text, fit.used, fit.points.size(),
                     counted_range(fit), core::format_number(fit.r2, 3));
}

}  // namespace comm_probe::cli
