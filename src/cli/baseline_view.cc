#include "cli/baseline_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "diagnose/curve_facts.h"

namespace comm_probe::cli {
namespace {

using core::format_number;
using core::Json;
using diagnose::Comparison;
using diagnose::RegionResult;
using diagnose::SizePair;

Json region_json(const RegionResult& result) {
  Json region = {{"region", region_name(result.region)}, {"sizes", result.sizes}};
  if (!result.test) return region;
  region["pairs"] = result.test->pairs;
  region["time_ratio"] = core::json_number(result.test->ratio);
  region["low"] = core::json_number(result.test->low);
  region["high"] = core::json_number(result.test->high);
  region["p"] = core::json_number(result.test->p);
  region["detectable"] = core::json_number(result.test->detectable);
  return region;
}

Json size_json(const SizePair& pair) {
  return {{"bytes", core::json_bytes(pair.bytes)},
          {"region", region_name(pair.region)},
          {"before_us", core::json_number(pair.before.in_us())},
          {"after_us", core::json_number(pair.after.in_us())},
          {"time_ratio", core::json_number(pair.ratio())},
          {"in_place_time_ratio",
           pair.again_ratio ? core::json_number(*pair.again_ratio) : Json(nullptr)}};
}

core::Column left(std::string title) { return {std::move(title), core::Column::Align::kLeft}; }

std::string says(const model::PairedTest& test) {
  const char* direction = test.ratio > 1 ? "slower" : "faster";
  if (diagnose::is_difference(test)) return direction;
  if (diagnose::is_beyond_chance(test))
    return fmt::format("{} {}, less than counts", core::format_percent(std::abs(test.ratio - 1), 2),
                       direction);
  return fmt::format("no difference; {} would show",
                     core::format_percent(std::max(test.detectable, diagnose::least_change()), 2));
}

void add_row(core::Table& table, const RegionResult& result) {
  const std::string sizes = std::to_string(result.sizes);
  if (!result.test) {
    table.rows.push_back({region_name(result.region), sizes, "", "", "",
                          result.sizes == 0 ? "no common size" : "too few sizes for a test"});
    return;
  }
  const auto& test = *result.test;
  table.rows.push_back(
      {region_name(result.region), sizes, format_number(test.ratio, 4),
       fmt::format("{} to {}", format_number(test.low, 4), format_number(test.high, 4)),
       format_number(test.p, 2), says(test)});
}

core::Paragraph files_of(const Comparison& comparison) {
  return {fmt::format("{} against {}", comparison.curve->curve->file,
                      comparison.baseline->curve->file)};
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
  if (comparison.baseline == nullptr) return nullptr;
  Json regions = Json::array(), sizes = Json::array();
  for (const RegionResult& result : comparison.regions) regions.push_back(region_json(result));
  for (const SizePair& pair : comparison.sizes) sizes.push_back(size_json(pair));
  return {{"file", comparison.baseline->curve->file},
          {"regions", std::move(regions)},
          {"sizes", std::move(sizes)}};
}

std::vector<core::Block> comparison_blocks(std::span<const Comparison> comparisons) {
  std::vector<core::Block> blocks;
  for (const Comparison& comparison : comparisons) {
    if (comparison.baseline == nullptr) continue;
    core::Table table;
    table.columns = {left("region"), {"sizes"}, {"time"}, {"95 % interval"}, {"p"}, left("says")};
    for (const RegionResult& result : comparison.regions) add_row(table, result);
    blocks.emplace_back(
        core::Heading{"against the baseline: " + diagnose::name_of(*comparison.curve->curve)});
    blocks.emplace_back(files_of(comparison));
    blocks.emplace_back(std::move(table));
  }
  return blocks;
}

std::vector<core::Block> comparison_details(std::span<const Comparison> comparisons) {
  std::vector<core::Block> blocks;
  for (const Comparison& comparison : comparisons) {
    if (comparison.baseline == nullptr) continue;
    core::Table table;
    table.columns = {{"size"}, {"baseline"}, {"now"}, {"ratio"}, {"in place"}, left("region")};
    for (const SizePair& pair : comparison.sizes)
      table.rows.push_back({core::format_bytes(pair.bytes), core::format_duration(pair.before),
                            core::format_duration(pair.after), format_number(pair.ratio(), 4),
                            pair.again_ratio ? format_number(*pair.again_ratio, 4) : "",
                            region_name(pair.region)});
    blocks.emplace_back(
        core::Heading{"size by size: " + diagnose::name_of(*comparison.curve->curve)});
    blocks.emplace_back(files_of(comparison));
    blocks.emplace_back(std::move(table));
  }
  return blocks;
}

}  // namespace comm_probe::cli
