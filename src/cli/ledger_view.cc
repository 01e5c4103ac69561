#include "cli/ledger_view.h"

#include <fmt/format.h>

#include "cli/method_name.h"
#include "core/units.h"
#include "model/advice.h"

namespace comm_probe::cli {
namespace {

using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_number;
using core::format_percent;
using core::Json;
using core::json_number;
using model::Ledger;
using model::Term;

Json whole(double steps) { return static_cast<std::int64_t>(steps); }

Json to_json(const Term& term) {
  return {{"name", term.name},
          {"time_us", json_number(term.time().in_us())},
          {"steps", whole(term.steps)},
          {"bytes", core::json_bytes(term.bytes)},
          {"hidden_bytes", core::json_bytes(term.hidden)},
          {"alpha_us", json_number(term.link.alpha.in_us())},
          {"beta_GBps", json_number(term.link.beta.in_GBps())},
          {"latency_us", json_number(term.latency().in_us())},
          {"bandwidth_us", json_number(term.bandwidth().in_us())},
          {"reason", term.reason}};
}

std::string side(const Ledger& ledger) {
  return ledger.is_latency_bound() ? fmt::format("latency ledger ({} of the time is steps)",
                                                 format_percent(ledger.latency_share()))
                                   : fmt::format("bandwidth ledger ({} of the time is bytes)",
                                                 format_percent(1 - ledger.latency_share()));
}

Json to_json(const model::PlaceSaving& saving) {
  return {{"place", saving.place},
          {"alpha_us", json_number(saving.link.alpha.in_us())},
          {"beta_GBps", json_number(saving.link.beta.in_GBps())},
          {"half_alpha_us", json_number(saving.half_alpha.in_us())},
          {"twice_beta_us", json_number(saving.twice_beta.in_us())}};
}

// "875 MB", or "(875 MB)" for bytes that cost no time of their own.
std::string bytes_text(const Term& term) {
  if (term.bytes.count() > 0 || term.hidden.count() == 0) return format_bytes(term.bytes);
  return "(" + format_bytes(term.hidden) + ")";
}

core::Table tree_table(const Ledger& ledger) {
  using Align = core::Column::Align;
  core::Table table{{{"term", Align::kLeft},
                     {"time", Align::kRight},
                     {"steps", Align::kRight},
                     {"alpha", Align::kRight},
                     {"bytes", Align::kRight},
                     {"beta", Align::kRight}},
                    {}};
  for (const Term& term : ledger.terms)
    table.rows.push_back({term.name, format_duration(term.time()), format_number(term.steps),
                          format_duration(term.link.alpha), bytes_text(term),
                          format_bandwidth(term.link.beta)});
  return table;
}

bool has_two_links(const Ledger& ledger) {
  for (const Term& term : ledger.terms)
    if (term.link.alpha != ledger.link.alpha || term.link.beta != ledger.link.beta) return true;
  return false;
}

bool has_two_ways(const Ledger& ledger) {
  std::size_t ways = 0;
  for (const Term& term : ledger.terms)
    ways += term.bytes.count() > 0 || term.hidden.count() > 0 ? 1U : 0U;
  return ways > 1 && has_two_links(ledger);
}

void add_tree(const Ledger& ledger, std::vector<core::Block>& blocks) {
  blocks.emplace_back(core::Heading{"Cost tree"});
  blocks.emplace_back(tree_table(ledger));
  for (const Term& term : ledger.terms)
    if (term.hidden.count() > 0) {
      blocks.emplace_back(core::Paragraph{
          "In brackets: bytes that pass while the slower link works and cost no time of their "
          "own."});
      return;
    }
}

core::KeyValues reasons(const Ledger& ledger) {
  core::KeyValues pairs;
  for (const Term& term : ledger.terms) pairs.rows.emplace_back(term.name, term.reason);
  return pairs;
}

core::Table rejected_table(const Ledger& ledger) {
  using Align = core::Column::Align;
  core::Table table{{{"algorithm", Align::kLeft},
                     {"time", Align::kRight},
                     {"compared", Align::kLeft},
                     {"needs", Align::kLeft}},
                    {}};
  for (const model::Rejected& other : ledger.rejected)
    table.rows.push_back({method_name(other.algorithm, other.protocol),
                          other.time > core::Duration() ? format_duration(other.time) : "-",
                          other.reason, other.needs});
  return table;
}

std::string link_text(const Ledger& ledger) {
  const std::string alpha = format_duration(ledger.link.alpha);
  const std::string beta = fmt::format("beta {} ({}: {})", format_bandwidth(ledger.link.beta),
                                       basis_name(ledger.basis), ledger.source);
  if (ledger.alpha_source.empty()) {
    return fmt::format("alpha {}, beta {} ({}: {})", alpha, format_bandwidth(ledger.link.beta),
                       basis_name(ledger.basis), ledger.source);
  }
  return fmt::format("alpha {} ({}: {}), {}", alpha, basis_name(core::Basis::kAssumed),
                     ledger.alpha_source, beta);
}

Json inputs_json(const Ledger& ledger) {
  Json json = {{"basis", basis_name(ledger.basis)}, {"source", ledger.source}};
  if (!ledger.alpha_source.empty())
    json["alpha"] = {{"basis", basis_name(core::Basis::kAssumed)}, {"source", ledger.alpha_source}};
  return json;
}

std::string steps_text(const Ledger& ledger) {
  return fmt::format("{} step{}", format_number(ledger.steps), ledger.steps == 1 ? "" : "s");
}

// Nothing where nothing has to move.
Json side_json(const Ledger& ledger) {
  if (ledger.time() <= core::Duration()) return nullptr;
  return ledger.is_latency_bound() ? "latency" : "bandwidth";
}

core::KeyValues summary(const Ledger& ledger) {
  core::KeyValues pairs;
  pairs.rows.emplace_back(
      "time", fmt::format("{} = {} latency ({}) + {} bandwidth ({} per rank{})",
                          format_duration(ledger.time()), format_duration(ledger.latency()),
                          steps_text(ledger), format_duration(ledger.bandwidth()),
                          format_bytes(ledger.bytes_per_rank),
                          has_two_ways(ledger) ? " on the link that costs most" : ""));
  pairs.rows.emplace_back(
      "algbw, busbw",
      fmt::format("{}, {}; large messages approach {}", format_bandwidth(ledger.algbw()),
                  format_bandwidth(ledger.busbw()), format_bandwidth(ledger.plateau_busbw)));
  pairs.rows.emplace_back(
      "knee", fmt::format("{}: below it steps count, above it bytes; 90 % of the plateau from {}",
                          format_bytes(ledger.knee), format_bytes(ledger.plateau90)));
  pairs.rows.emplace_back("link", link_text(ledger));
  if (!ledger.crossing.empty()) pairs.rows.emplace_back("nodes", ledger.crossing);
  return pairs;
}

}  // namespace

Json to_json(const model::Rejected& rejected) {
  Json json = {{"algorithm", algorithm_name(rejected.algorithm)},
               {"protocol", protocol_name(rejected.protocol)}};
  json["time_us"] = rejected.time > core::Duration() ? json_number(rejected.time.in_us()) : nullptr;
  if (!rejected.needs.empty()) json["needs"] = rejected.needs;
  json["reason"] = rejected.reason;
  return json;
}

Json to_json(const Ledger& ledger) {
  Json json = {{"op", op_name(ledger.collective.op)},
               {"algorithm", algorithm_name(ledger.algorithm)},
               {"protocol", protocol_name(ledger.protocol)},
               {"ranks", ledger.collective.ranks},
               {"bytes", core::json_bytes(ledger.collective.bytes)},
               {"steps", whole(ledger.steps)},
               {"alpha_us", json_number(ledger.link.alpha.in_us())},
               {"beta_GBps", json_number(ledger.link.beta.in_GBps())},
               {"bytes_per_rank", core::json_bytes(ledger.bytes_per_rank)},
               {"latency_us", json_number(ledger.latency().in_us())},
               {"bandwidth_us", json_number(ledger.bandwidth().in_us())},
               {"time_us", json_number(ledger.time().in_us())},
               {"latency_share", json_number(ledger.latency_share())},
               {"algbw_GBps", json_number(ledger.algbw().in_GBps())},
               {"busbw_GBps", json_number(ledger.busbw().in_GBps())},
               {"knee_bytes", core::json_bytes(ledger.knee)},
               {"plateau90_bytes", core::json_bytes(ledger.plateau90)},
               {"plateau_busbw_GBps", json_number(ledger.plateau_busbw.in_GBps())}};
  json["terms"] = Json::array();
  for (const Term& term : ledger.terms) json["terms"].push_back(to_json(term));
  json["ledger"] = side_json(ledger);
  json["advice"] = model::advice(ledger);
  json["savings"] = Json::array();
  for (const model::PlaceSaving& one : ledger.by_place) json["savings"].push_back(to_json(one));
  json["rejected"] = Json::array();
  for (const model::Rejected& other : ledger.rejected) json["rejected"].push_back(to_json(other));
  json["basis"] = "computed";
  json["inputs"] = inputs_json(ledger);
  if (!ledger.crossing.empty()) json["crossing"] = ledger.crossing;
  return json;
}

std::string ledger_sentence(const Ledger& ledger) {
  const std::string what = fmt::format(
      "{} of {} on {} rank{}, {}", op_name(ledger.collective.op),
      format_bytes(ledger.collective.bytes), ledger.collective.ranks,
      ledger.collective.ranks == 1 ? "" : "s", method_name(ledger.algorithm, ledger.protocol));
  if (ledger.time() <= core::Duration()) return what + ": free, nothing has to move";
  return fmt::format("{}: {}, a {}", what, format_duration(ledger.time()), side(ledger));
}

std::vector<core::Block> ledger_blocks(const Ledger& ledger) {
  if (ledger.time() <= core::Duration()) return {};
  std::vector<core::Block> blocks = {summary(ledger)};
  if (has_two_links(ledger)) add_tree(ledger, blocks);
  blocks.emplace_back(core::Heading{"What helps"});
  for (const std::string& line : model::advice(ledger))
    blocks.emplace_back(core::Paragraph{"- " + line});
  return blocks;
}

std::vector<core::Block> ledger_details(const Ledger& ledger) {
  if (ledger.time() <= core::Duration()) return {};
  std::vector<core::Block> blocks;
  if (!has_two_links(ledger)) add_tree(ledger, blocks);
  blocks.emplace_back(core::Heading{"Where steps and bytes come from"});
  blocks.emplace_back(reasons(ledger));
  if (ledger.rejected.empty()) return blocks;
  blocks.emplace_back(core::Heading{"Not taken"});
  blocks.emplace_back(rejected_table(ledger));
  return blocks;
}

std::vector<core::Block> ledger_terms(const Ledger& ledger) {
  std::vector<core::Block> blocks;
  if (ledger.time() <= core::Duration()) return blocks;
  add_tree(ledger, blocks);
  blocks.emplace_back(core::Heading{"Where steps and bytes come from"});
  blocks.emplace_back(reasons(ledger));
  return blocks;
}

}  // namespace comm_probe::cli
