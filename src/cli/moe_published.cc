#include "cli/moe_published.h"

#include <fmt/format.h>

#include "core/units.h"
#include "model/moe/published.h"

namespace comm_probe::cli {
namespace {

using core::format_percent;
using core::Json;
using core::json_number;
using model::ComparedMoe;
using Align = core::Column::Align;

std::string number(double value) { return value > 0 ? fmt::format("{:.1f}", value) : "-"; }
std::string ratio(double predicted, double published) {
  return predicted > 0 ? fmt::format("{:.2f}", predicted / published) : "-";
}

core::Table table_of(const std::vector<ComparedMoe>& rows, bool is_time) {
  const std::string unit = is_time ? "us" : "GB/s";
  core::Table table{{{"EP"},
                     {"", Align::kLeft},
                     {"limited by", Align::kLeft},
                     {"published " + unit},
                     {"predicted"},
                     {"ratio"},
                     {"leave one out"},
                     {"ratio"}},
                    {}};
  for (const ComparedMoe& row : rows)
    table.rows.push_back({std::to_string(row.row.ranks),
                          row.row.is_combine ? "combine" : "dispatch",
                          row.transfer.is_nic_bound() ? "NIC" : "NVLink", number(row.row.value),
                          number(row.beforehand), ratio(row.beforehand, row.row.value),
                          number(row.leave_one_out), ratio(row.leave_one_out, row.row.value)});
  return table;
}

Json rows_json(const std::vector<ComparedMoe>& rows) {
  Json json = Json::array();
  for (const ComparedMoe& row : rows)
    json.push_back({{"ranks", row.row.ranks},
                    {"op", row.row.is_combine ? "combine" : "dispatch"},
                    {"published", json_number(row.row.value)},
                    {"predicted", json_number(row.beforehand)},
                    {"ratio", json_number(row.beforehand / row.row.value)},
                    {"leave_one_out", json_number(row.leave_one_out)},
                    {"leave_one_out_ratio", json_number(row.leave_one_out / row.row.value)}});
  return json;
}

}  // namespace

core::Document published_document() {
  core::Document document{.command = "calc"};
  document.result["tables"] = Json::array();
  std::string means;
  for (const model::MoeTable table : model::kAllMoeTables) {
    const model::MoeTableFacts& facts = model::facts_of(table);
    const auto rows = model::compare_moe(table);
    const double before = model::mean_error(rows, &ComparedMoe::beforehand);
    const double left_out = model::mean_error(rows, &ComparedMoe::leave_one_out);
    document.result["tables"].push_back({{"name", facts.name},
                                         {"setup", facts.setup},
                                         {"source", facts.source},
                                         {"unit", facts.is_time ? "us" : "GB/s"},
                                         {"rows", rows_json(rows)},
                                         {"mean_error", json_number(before)},
                                         {"leave_one_out_mean_error", json_number(left_out)}});
    means += fmt::format("{}{} {}", means.empty() ? "" : ", ", facts.name, format_percent(before));
    document.body.emplace_back(core::Heading{std::string(facts.name)});
    document.body.emplace_back(core::Paragraph{
        fmt::format("{} ({}). Mean error {} with constants fixed beforehand, {} leaving one out.",
                    facts.setup, facts.source, format_percent(before), format_percent(left_out))});
    document.body.emplace_back(table_of(rows, facts.is_time));
  }
  document.verdict = "the ledger beside what was published, mean error: " + means;
  return document;
}

}  // namespace comm_probe::cli
