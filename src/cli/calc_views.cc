#include "cli/calc_views.h"

#include <fmt/format.h>

#include "cli/ledger_view.h"
#include "cli/method_name.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_percent;
using core::Json;
using core::json_number;
using model::Ledger;
using Align = core::Column::Align;

bool same_method(const Ledger& a, const Ledger& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

bool is_one_method(const std::vector<Ledger>& ledgers) {
  for (const Ledger& ledger : ledgers)
    if (!same_method(ledger, ledgers.front())) return false;
  return true;
}

Json sweep_row(const Ledger& ledger) {
  return {{"bytes", core::json_bytes(ledger.collective.bytes)},
          {"algorithm", algorithm_name(ledger.algorithm)},
          {"protocol", protocol_name(ledger.protocol)},
          {"latency_us", json_number(ledger.latency().in_us())},
          {"bandwidth_us", json_number(ledger.bandwidth().in_us())},
          {"time_us", json_number(ledger.time().in_us())},
          {"latency_share", json_number(ledger.latency_share())},
          {"algbw_GBps", json_number(ledger.algbw().in_GBps())},
          {"busbw_GBps", json_number(ledger.busbw().in_GBps())},
          {"ledger", ledger.time() <= core::Duration() ? Json()
                     : ledger.is_latency_bound()       ? Json("latency")
                                                       : Json("bandwidth")}};
}

core::Table sweep_table(const std::vector<Ledger>& ledgers) {
  core::Table table{{{"size", Align::kRight},
                     {"algorithm", Align::kLeft, 3},
                     {"time", Align::kRight},
                     {"latency", Align::kRight, 4},
                     {"bandwidth", Align::kRight, 4},
                     {"algbw", Align::kRight, 5},
                     {"busbw", Align::kRight},
                     {"steps are", Align::kRight}},
                    {}};
  for (const Ledger& ledger : ledgers)
    table.rows.push_back(
        {format_bytes(ledger.collective.bytes), method_name(ledger.algorithm, ledger.protocol),
         format_duration(ledger.time()), format_duration(ledger.latency()),
         format_duration(ledger.bandwidth()), format_bandwidth(ledger.algbw()),
         format_bandwidth(ledger.busbw()), format_percent(ledger.latency_share())});
  return table;
}

Json to_json(const model::Method& method) { return method_name(method.algorithm, method.protocol); }

Json to_json(const model::Stretch& stretch) {
  Json json = {{"fastest", to_json(stretch.fastest)}, {"from_bytes", json_bytes(stretch.from)}};
  json["to_bytes"] = stretch.to ? json_bytes(*stretch.to) : Json();
  return json;
}

core::Table compare_table(const std::vector<Ledger>& ledgers) {
  core::Table table{{{"algorithm", Align::kLeft},
                     {"time", Align::kRight},
                     {"steps", Align::kRight},
                     {"latency", Align::kRight},
                     {"bandwidth", Align::kRight},
                     {"busbw", Align::kRight},
                     {"plateau", Align::kRight, 5},
                     {"knee", Align::kRight}},
                    {}};
  for (const Ledger& ledger : ledgers)
    table.rows.push_back({method_name(ledger.algorithm, ledger.protocol),
                          format_duration(ledger.time()), core::format_number(ledger.steps),
                          format_duration(ledger.latency()), format_duration(ledger.bandwidth()),
                          format_bandwidth(ledger.busbw()), format_bandwidth(ledger.plateau_busbw),
                          format_bytes(ledger.knee)});
  return table;
}

std::string sentence(const model::Stretch& stretch) {
  const std::string name = method_name(stretch.fastest.algorithm, stretch.fastest.protocol);
  if (!stretch.to && stretch.from.count() == 0) return name + " is the fastest at every size";
  if (!stretch.to) return fmt::format("above {}: {}", format_bytes(stretch.from), name);
  if (stretch.from.count() == 0)
    return fmt::format("up to {}: {}", format_bytes(*stretch.to), name);
  return fmt::format("from {} to {}: {}", format_bytes(stretch.from), format_bytes(*stretch.to),
                     name);
}

std::string ranks_text(const model::Collective& collective) {
  return fmt::format("{} rank{}", collective.ranks, collective.ranks == 1 ? "" : "s");
}

std::string compare_sentence(const model::Comparison& comparison, const Ledger& best) {
  const std::string what =
      fmt::format("{} of {} on {}", op_name(best.collective.op),
                  format_bytes(best.collective.bytes), ranks_text(best.collective));
  if (best.collective.ranks == 1) return what + ": free, nothing has to move";
  const std::string name = method_name(best.algorithm, best.protocol);
  if (comparison.ledgers.size() == 1)
    return fmt::format("{}, {}: {}", what, name, format_duration(best.time()));
  return fmt::format("{}: {} is the fastest of {}, {}", what, name, comparison.ledgers.size(),
                     format_duration(best.time()));
}

// Which ways between nodes the rows above share.
void add_crossing(const Ledger& ledger, Document& document) {
  if (ledger.crossing.empty()) return;
  document.body.emplace_back(core::Preformatted{"\n"});
  document.body.emplace_back(core::KeyValues{{{"nodes", ledger.crossing}}});
  document.result["crossing"] = ledger.crossing;
}

const Ledger& fastest(const std::vector<Ledger>& ledgers) {
  const Ledger* best = &ledgers.front();
  for (const Ledger& ledger : ledgers)
    if (ledger.time() < best->time()) best = &ledger;
  return *best;
}

void add_stretches(const model::Comparison& comparison, Document& document) {
  document.result["fastest"] = Json::array();
  document.body.emplace_back(core::Heading{"Fastest"});
  for (const model::Stretch& stretch : comparison.stretches) {
    document.result["fastest"].push_back(to_json(stretch));
    document.body.emplace_back(core::Paragraph{"- " + sentence(stretch)});
  }
}

}  // namespace

Document ledger_document(const Ledger& ledger) {
  Document document{.command = "calc"};
  document.result = to_json(ledger);
  document.verdict = ledger_sentence(ledger);
  document.body = ledger_blocks(ledger);
  document.details = ledger_details(ledger);
  return document;
}

Document sweep_document(const std::vector<Ledger>& ledgers) {
  Document document{.command = "calc"};
  const Ledger& first = ledgers.front();
  const bool is_one = is_one_method(ledgers);
  document.result = {{"op", op_name(first.collective.op)},
                     {"algorithm", is_one ? algorithm_name(first.algorithm) : "auto"},
                     {"protocol", protocol_name(first.protocol)},
                     {"ranks", first.collective.ranks}};
  if (is_one) {
    document.result["knee_bytes"] = core::json_bytes(first.knee);
    document.result["plateau90_bytes"] = core::json_bytes(first.plateau90);
    document.result["plateau_busbw_GBps"] = json_number(first.plateau_busbw.in_GBps());
  }
  document.result["rows"] = Json::array();
  for (const Ledger& ledger : ledgers) document.result["rows"].push_back(sweep_row(ledger));
  document.verdict = fmt::format(
      "{} on {}, {}", op_name(first.collective.op), ranks_text(first.collective),
      is_one ? method_name(first.algorithm, first.protocol) : "the fastest algorithm of each size");
  if (is_one && first.plateau_busbw > core::Bandwidth())
    document.verdict +=
        fmt::format(": knee {}, 90 % of {} from {}", format_bytes(first.knee),
                    format_bandwidth(first.plateau_busbw), format_bytes(first.plateau90));
  document.body = {sweep_table(ledgers)};
  add_crossing(first, document);
  return document;
}

Document compare_document(const model::Comparison& comparison) {
  Document document{.command = "calc"};
  const Ledger& best = fastest(comparison.ledgers);
  document.result = {{"op", op_name(best.collective.op)},
                     {"ranks", best.collective.ranks},
                     {"bytes", core::json_bytes(best.collective.bytes)}};
  document.result["ledgers"] = Json::array();
  for (const Ledger& ledger : comparison.ledgers)
    document.result["ledgers"].push_back(to_json(ledger));
  document.result["crossovers"] = Json::array();
  for (const model::Crossover& crossover : comparison.crossovers)
    document.result["crossovers"].push_back({{"bytes", core::json_bytes(crossover.size)},
                                             {"below", to_json(crossover.below)},
                                             {"above", to_json(crossover.above)}});
  document.verdict = compare_sentence(comparison, best);
  document.body = {compare_table(comparison.ledgers)};
  add_crossing(best, document);
  add_stretches(comparison, document);
  return document;
}

}  // namespace comm_probe::cli
