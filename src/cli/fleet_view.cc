#include "cli/fleet_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using diagnose::Fleet;
using diagnose::NodeResult;
using diagnose::PairSummary;

constexpr std::size_t kMostShown = 40;  // groups
constexpr std::size_t kLeastShown = 2;  // nodes or pairs: one of its kind is a curve, no fleet

core::Column left(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kLeft, weight};
}
core::Column right(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kRight, weight};
}

Json summary_json(const PairSummary& summary) {
  return {{"group", summary.group},
          {"measured", summary.measured},
          {"failed", summary.failed},
          {"slow", summary.slow},
          {"median_GBps", core::json_number(summary.median.in_GBps())},
          {"slowest_GBps", core::json_number(summary.slowest.in_GBps())},
          {"slowest_pair", summary.slowest_pair}};
}

bool is_shown(const PairSummary& summary) {
  return summary.measured + summary.failed >= kLeastShown;
}

core::Table pairs_table(const std::vector<PairSummary>& summaries) {
  core::Table table;
  table.columns = {left("pairs of nodes"), right("measured"), right("slow"),   right("failed"),
                   right("median"),        right("slowest"),  left("which", 8)};
  for (const PairSummary& summary : summaries)
    if (is_shown(summary) && table.rows.size() < kMostShown)
      table.rows.push_back({summary.group, std::to_string(summary.measured),
                            std::to_string(summary.slow), std::to_string(summary.failed),
                            core::format_bandwidth(summary.median),
                            core::format_bandwidth(summary.slowest), summary.slowest_pair});
  return table;
}

core::Table nodes_table(const Fleet& fleet) {
  std::map<std::string, std::vector<const NodeResult*>> groups;
  for (const NodeResult& result : fleet.nodes) groups[result.group].push_back(&result);
  core::Table table;
  table.columns = {left("single nodes"), right("results"), right("slowest"), left("which", 8),
                   right("fastest")};
  for (const auto& [group, results] : groups) {
    if (results.size() < kLeastShown || table.rows.size() >= kMostShown) continue;
    const auto [slowest, fastest] = std::minmax_element(
        results.begin(), results.end(),
        [](const NodeResult* a, const NodeResult* b) { return a->rate < b->rate; });
    table.rows.push_back({group, std::to_string(results.size()),
                          core::format_bandwidth((*slowest)->rate), (*slowest)->node,
                          core::format_bandwidth((*fastest)->rate)});
  }
  return table;
}

}  // namespace

Json fleet_json(const Fleet& fleet) {
  Json json = Json::object();
  for (const PairSummary& summary : diagnose::summarise_pairs(fleet))
    json["pairs"].push_back(summary_json(summary));
  for (const NodeResult& result : fleet.nodes)
    json["nodes"].push_back({{"group", result.group},
                             {"node", result.node},
                             {"busbw_GBps", core::json_number(result.rate.in_GBps())},
                             {"file", result.file}});
  return json;
}

std::vector<core::Block> fleet_blocks(const Fleet& fleet) {
  std::vector<core::Block> blocks;
  if (core::Table table = pairs_table(diagnose::summarise_pairs(fleet)); !table.rows.empty())
    blocks.emplace_back(std::move(table));
  if (core::Table table = nodes_table(fleet); !table.rows.empty())
    blocks.emplace_back(std::move(table));
  return blocks;
}

}  // namespace comm_probe::cli
