#include "cli/trace_moe.h"

#include <fmt/format.h>

#include "catalog/node_sizes.h"
#include "cli/decimal_bytes.h"
#include "cli/moe_request.h"
#include "core/json.h"
#include "core/number.h"
#include "core/spelling.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::format_duration;
using core::input_error;
using core::Json;
using core::json_number;
using diagnose::MoeCompared;
using diagnose::MoeGiven;
using diagnose::TraceMoe;
using Align = core::Column::Align;

constexpr std::string_view kNames[] = {"tokens",  "topk",          "hidden",      "experts",
                                       "nodes",   "gpus-per-node", "group-limit", "dispatch",
                                       "combine", "nic",           "nvlink"};

core::Result<std::int64_t> number_of(const std::string& name, const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000;
  const auto number = core::whole_number<std::int64_t>(text);
  if (number && *number >= 1 && *number <= kMost) return *number;
  return input_error(fmt::format("--moe: {} is '{}'", name, text),
                     fmt::format("expected a whole number from 1 to {}", kMost));
}

core::Result<model::MoeFormat> format_of(const std::string& name, const std::string& text) {
  if (text == "fp8") return model::MoeFormat::kFp8;
  if (text == "bf16") return model::MoeFormat::kBf16;
  return input_error(fmt::format("--moe: {} is '{}'", name, text), "expected fp8 or bf16");
}

core::Result<bool> take_rate(const std::string& name, const std::string& text, MoeGiven& given) {
  const auto rate = core::parse_bandwidth(text);
  if (!rate) return rate.error();
  (name == "nic" ? given.nic : given.nvlink) = {*rate, core::Basis::kAssumed,
                                                "given on the command line"};
  return true;
}

core::Result<bool> take_format(const std::string& name, const std::string& text, MoeGiven& given) {
  const auto format = format_of(name, text);
  if (!format) return format.error();
  (name == "dispatch" ? given.dispatch : given.combine) = *format;
  return true;
}

core::Result<bool> take_number(const std::string& name, const std::string& text, MoeGiven& given) {
  const auto number = number_of(name, text);
  if (!number) return number.error();
  const int small = static_cast<int>(*number);
  if (name == "tokens") given.tokens = *number;
  if (name == "topk") given.topk = small;
  if (name == "hidden") given.hidden = small;
  if (name == "experts") given.experts = small;
  if (name == "nodes") given.nodes = small;
  if (name == "gpus-per-node") given.ranks_per_node = small;
  if (name == "group-limit") given.group_limit = small;
  return true;
}

// "tokens=128"
core::Result<bool> take(const std::string& word, MoeGiven& given) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos)
    return input_error(fmt::format("--moe: '{}' is not NAME=VALUE", word),
                       "expected for instance tokens=128,topk=8");
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return input_error("--moe: " + core::unknown_word("fact of a layer", name, kNames));
  const std::string value = word.substr(equals + 1);
  if (name == "nic" || name == "nvlink") return take_rate(name, value, given);
  if (name == "dispatch" || name == "combine") return take_format(name, value, given);
  return take_number(name, value, given);
}

std::string us(std::int64_t ns) {
  return format_duration(core::Duration::from_ns(static_cast<double>(ns)));
}
std::string rate_text(const std::optional<core::Bandwidth>& rate) {
  return rate ? ">= " + core::format_number(rate->in_GBps(), 3) : "-";
}

std::string how(const torch::MoeUse& use) {
  std::string text = torch::backend_name(use.kernel.backend);
  if (!use.kernel.algorithm.empty()) text += " " + use.kernel.algorithm;
  return use.in_halves ? text + ", two halves" : text;
}

core::Table table_of(const TraceMoe& moe) {
  core::Table table{{{"carried by", Align::kLeft},
                     {"", Align::kLeft},
                     {"calls"},
                     {"least"},
                     {"median"},
                     {"95 %", Align::kRight, 8},
                     {"bytes"},
                     {"GB/s"},
                     {"on the NIC", Align::kRight, 7},
                     {"ledger"}},
                    {}};
  for (const MoeCompared& row : moe.rows)
    table.rows.push_back({how(row.use), torch::class_name(row.use.kernel.kind),
                          std::to_string(row.use.count), us(row.use.least), us(row.use.median),
                          us(row.use.p95), row.bytes ? decimal_bytes(*row.bytes) : "-",
                          rate_text(row.logical_rate()),
                          row.wire && row.wire->count() > 0 ? rate_text(row.wire_rate()) : "-",
                          row.predicted ? format_duration(*row.predicted) : "-"});
  return table;
}

std::string facts_text(const TraceMoe& moe) {
  std::string text;
  for (const diagnose::MoeFact& fact : moe.facts)
    text += fmt::format("{}{} {} ({}: {})", text.empty() ? "" : ", ", fact.name, fact.value,
                        basis_name(fact.basis), fact.source);
  return text;
}

std::string links_text(const MoeGiven& given) {
  std::string text;
  for (const auto& [name, rate] : {std::pair{"NIC", given.nic}, std::pair{"NVLink", given.nvlink}})
    if (rate.value > core::Bandwidth())
      text += fmt::format("{}{} {} ({}: {})", text.empty() ? "" : ", ", name,
                          core::format_bandwidth(rate.value), basis_name(rate.basis), rate.source);
  return text;
}

bool any(const TraceMoe& moe, bool (*is_so)(const MoeCompared&)) {
  return std::any_of(moe.rows.begin(), moe.rows.end(), is_so);
}

// Kernels wait for the last sender: the rank with the shortest is the one that the others wait for.
std::string late_text(const TraceMoe& moe) {
  constexpr double kApart = 1.5;
  for (const MoeCompared& row : moe.rows) {
    const torch::MoeUse& use = row.use;
    if (!use.moves_tokens() || use.shortest_rank == use.longest_rank) continue;
    if (static_cast<double>(use.longest_median) <
        kApart * static_cast<double>(std::max<std::int64_t>(use.shortest_median, 1)))
      continue;
    return fmt::format(
        " {} takes {} on rank {} and {} on rank {}: a kernel waits for the last sender, so rank {} "
        "seems to come late and the others wait for it.",
        torch::class_name(use.kernel.kind), us(use.shortest_median), use.shortest_rank,
        us(use.longest_median), use.longest_rank, use.shortest_rank);
  }
  return "";
}

// Whose ranks they are decides how many nodes the tokens go to.
std::string group_text(const TraceMoe& moe, const MoeGiven& given) {
  if (moe.group.name.empty()) return "";
  const bool is_given = given.nodes && given.ranks_per_node;
  if (is_given) return "";
  const std::string place = moe.place.empty() ? "" : ", " + moe.place;
  if (moe.group.basis == core::Basis::kAssumed)
    return fmt::format(
        " {} are taken as one expert group{}: {}; --moe nodes=N,gpus-per-node=G says "
        "otherwise.",
        "A" + moe.group.value.substr(1), place, moe.group.source);
  return fmt::format(" Expert group: {} ({}: {}){}.", moe.group.value, basis_name(moe.group.basis),
                     moe.group.source, place);
}

// What nobody said: bytes can be half or twice these.
std::string usual_text(const TraceMoe& moe) {
  std::string usual;
  for (const diagnose::MoeFact& fact : moe.facts)
    if (fact.basis == core::Basis::kAssumed && fact.source == diagnose::kUsual)
      usual += fmt::format("{}{} {}", usual.empty() ? "" : ", ", fact.name, fact.value);
  return usual.empty()
             ? ""
             : fmt::format(" Assumed as usual: {}; --moe NAME=VALUE says otherwise.", usual);
}

std::string note_of(const TraceMoe& moe, const MoeGiven& given) {
  if (!moe.refused.empty())
    return "No ledger: " + moe.refused + "." +
           (moe.missing.empty()
                ? ""
                : fmt::format(" --moe {} says where they are.", fmt::join(moe.missing, ","))) +
           late_text(moe);
  if (!moe.missing.empty())
    return fmt::format(
               "Neither the trace nor its kernels' names say how many bytes these are: "
               "--moe {} adds them.",
               fmt::join(moe.missing, ",")) +
           late_text(moe);
  std::string note =
      "GB/s at the median, waiting included, as DeepEP counts: also what stays on the node.";
  if (any(moe, [](const MoeCompared& row) { return row.fixed > core::Duration(); }))
    note +=
        " The ledger of low-latency kernels holds 45 and 65 us of fixed cost (read: README of "
        "pplx-garden, 2 to 8 nodes).";
  if (any(moe, [](const MoeCompared& row) { return row.is_part; }))
    note +=
        " A kernel that is shorter than its bytes can take is a part of the operation, or moves "
        "fewer tokens than --moe says.";
  if (const std::string links = links_text(given); !links.empty())
    note += " Links: " + links + ".";
  else
    note += " --machine NAME, or --moe nic=400Gb/s,nvlink=450GB/s, adds the ledger.";
  return note + group_text(moe, given) + usual_text(moe) + late_text(moe);
}

Json maybe(const std::optional<core::Bandwidth>& rate) {
  return rate ? json_number(rate->in_GBps()) : Json();
}
template <class T>
Json maybe_number(const std::optional<T>& number) {
  return number ? Json(*number) : Json();
}

Json row_json(const MoeCompared& row) {
  const torch::MoeUse& use = row.use;
  const auto in_us = [](std::int64_t ns) { return json_number(static_cast<double>(ns) / 1e3); };
  return {{"backend", torch::backend_name(use.kernel.backend)},
          {"kernel", use.name},
          {"op", torch::class_name(use.kernel.kind)},
          {"how", use.kernel.algorithm},
          {"count", use.count},
          {"in_halves", use.in_halves},
          {"least_us", in_us(use.least)},
          {"median_us", in_us(use.median)},
          {"p95_us", in_us(use.p95)},
          {"most_us", in_us(use.most)},
          {"total_us", in_us(use.total)},
          {"shortest_rank", use.shortest_rank},
          {"shortest_rank_median_us", in_us(use.shortest_median)},
          {"longest_rank", use.longest_rank},
          {"longest_rank_median_us", in_us(use.longest_median)},
          {"name_says",
           {{"hidden", maybe_number(use.facts.hidden)},
            {"fp8", maybe_number(use.facts.is_fp8)},
            {"nodes", maybe_number(use.facts.nodes)},
            {"gpus_per_node", maybe_number(use.facts.ranks_per_node)}}},
          {"bytes", row.bytes ? core::json_bytes(*row.bytes) : Json()},
          {"wire_bytes", row.wire ? core::json_bytes(*row.wire) : Json()},
          {"logical_GBps", maybe(row.logical_rate())},
          {"wire_GBps", maybe(row.wire_rate())},
          {"predicted_us", row.predicted ? json_number(row.predicted->in_us()) : Json()},
          {"predicted_fixed_us", row.predicted ? json_number(row.fixed.in_us()) : Json()},
          {"is_part", row.is_part},
          {"unpriced", row.unpriced.empty() ? Json() : Json(row.unpriced)}};
}

Json link_json(const core::Sourced<core::Bandwidth>& link) {
  if (link.value == core::Bandwidth()) return {};
  return {{"GBps", json_number(link.value.in_GBps())},
          {"basis", basis_name(link.basis)},
          {"source", link.source}};
}

Json json_of(const TraceMoe& moe, const MoeGiven& given) {
  if (moe.rows.empty()) return {};
  Json json = {{"facts", Json::array()}, {"missing", moe.missing}, {"operations", Json::array()}};
  for (const diagnose::MoeFact& fact : moe.facts)
    json["facts"].push_back({{"name", fact.name},
                             {"value", fact.value},
                             {"basis", basis_name(fact.basis)},
                             {"source", fact.source}});
  json["refused"] = moe.refused.empty() ? Json() : Json(moe.refused);
  json["links"] = {{"nic", link_json(given.nic)}, {"nvlink", link_json(given.nvlink)}};
  for (const MoeCompared& row : moe.rows) json["operations"].push_back(row_json(row));
  return json;
}

}  // namespace

void TraceMoeRequest::add_to(CLI::App& app) {
  app.add_option(
         "--moe", words_,
         "facts of the MoE layer that a trace does not hold: tokens=T,topk=K of a rank; also "
         "hidden, experts, nodes, gpus-per-node, group-limit, dispatch, combine, nic, nvlink")
      ->delimiter(',')
      ->take_all()
      ->type_name("NAME=VALUE");
}

core::Result<MoeGiven> TraceMoeRequest::given(const TraceReference& reference) const {
  MoeGiven given;
  given.nodes = reference.nodes();
  std::set<std::string> names;
  for (const std::string& word : words_) {
    if (const auto taken = take(word, given); !taken) return taken.error();
    if (const std::string name = word.substr(0, word.find('=')); !names.insert(name).second)
      return input_error(fmt::format("--moe: {} is given twice", name));
  }
  const catalog::Machine* machine = reference.machine();
  if (machine == nullptr) return given;
  // as in calc moe: what stays on NVLink decides, on one host or on many
  const catalog::NodeSizes sizes = catalog::node_sizes(*machine);
  const std::string domain = catalog::domain_text(sizes);
  given.machine_ranks = {sizes.domain, core::Basis::kCatalog,
                         machine->name + (domain.empty() ? "" : ", " + domain)};
  const model::MoeLinks links = moe_links_of(*machine, given.ranks_per_node.value_or(sizes.domain));
  const auto fill = [&](core::Bandwidth rate, core::Sourced<core::Bandwidth>& its) {
    if (its.value == core::Bandwidth()) its = {rate, core::Basis::kCatalog, machine->name};
  };
  fill(links.nic, given.nic);
  fill(links.nvlink, given.nvlink);
  return given;
}

void add_moe(const torch::AcrossRanks& across, const MoeGiven& given, core::Document& document) {
  TraceMoe moe = diagnose::judge_trace_moe(across, given);
  document.result["moe"] = json_of(moe, given);
  for (core::Finding& finding : moe.judgement.findings)
    document.findings.push_back(std::move(finding));
  if (moe.rows.empty()) return;
  document.body.emplace_back(core::Heading{"MoE: dispatch and combine beside the ledger"});
  document.body.emplace_back(table_of(moe));
  document.body.emplace_back(core::Paragraph{note_of(moe, given)});
  document.details.emplace_back(core::Heading{"The MoE layer: who says what"});
  document.details.emplace_back(core::Paragraph{facts_text(moe)});
}

}  // namespace comm_probe::cli
