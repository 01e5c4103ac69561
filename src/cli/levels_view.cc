#include "cli/levels_view.h"

#include <fmt/format.h>

#include "core/units.h"
#include "model/fit.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using measure::Level;

std::optional<model::Fit> fit_of(const Level& level) {
  return model::fit_line(level.fresh.one_way, model::FitShape{1, 1});
}

core::Bandwidth rate_of(const model::FitPoint& point) { return point.bytes / point.time; }

Json points_json(const std::vector<model::FitPoint>& points) {
  Json rows = Json::array();
  for (const model::FitPoint& point : points)
    rows.push_back({{"bytes", core::json_bytes(point.bytes)},
                    {"time_us", core::json_number(point.time.in_us())},
                    {"GBps", core::json_number(rate_of(point).in_GBps())}});
  return rows;
}

Json curves_json(const Level::Curves& curves) {
  return {{"one_way", points_json(curves.one_way)}, {"exchange", points_json(curves.exchange)}};
}

}  // namespace

core::Table levels_table(const std::vector<Level>& levels) {
  using Align = core::Column::Align;
  core::Table table;
  table.columns = {{"way", Align::kLeft}, {"pairs"}, {"one of 8 B"}, {"alpha"}, {"beta"},
                   {"largest, fresh"},    {"resent"}};
  for (const Level& level : levels) {
    const auto fit = fit_of(level);
    table.rows.push_back(
        {level.name, fmt::format("{}", level.pairs),
         core::format_duration(level.fresh.one_way.front().time),
         fit && fit->latency_known ? core::format_duration(fit->alpha) : "not shown",
         fit && fit->beta_known ? core::format_bandwidth(fit->beta) : "not shown",
         core::format_bandwidth(rate_of(level.fresh.one_way.back())),
         core::format_bandwidth(rate_of(level.resent.one_way.back()))});
  }
  return table;
}

Json levels_json(const std::vector<Level>& levels) {
  Json rows = Json::array();
  for (const Level& level : levels) {
    const auto fit = fit_of(level);
    rows.push_back({{"level", level.name},
                    {"pairs", level.pairs},
                    {"alpha_us", fit && fit->latency_known ? core::json_number(fit->alpha.in_us())
                                                           : Json(nullptr)},
                    {"beta_GBps", fit && fit->beta_known ? core::json_number(fit->beta.in_GBps())
                                                         : Json(nullptr)},
                    {"r2", fit ? core::json_number(fit->r2) : Json(nullptr)},
                    {"fresh", curves_json(level.fresh)},
                    {"resent", curves_json(level.resent)}});
  }
  return rows;
}

}  // namespace comm_probe::cli
