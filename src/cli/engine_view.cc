#include "cli/engine_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using serving::BackendList;
using serving::BackendOff;
using serving::EngineFacts;
using serving::EngineStart;
using serving::KvTransfers;

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json place_json(const core::Evidence& evidence) {
  return {{"source", evidence.source}, {"line", *evidence.line}};
}

Json transfer_json(const KvTransfers& one) {
  return {{"transfers", one.count},
          {"bytes", core::json_bytes(one.bytes)},
          {"time_us", core::json_number(one.time.in_us())},
          {"posting_us", core::json_number(one.post.in_us())},
          {"descriptors", one.descriptors},
          {"GBps", core::json_number((one.bytes / one.time).in_GBps())},
          {"basis", "measured"},
          {"source", one.file},
          {"line", one.line}};
}

std::string start_text(const EngineStart& start) {
  std::string text = start.engine + (start.version.empty() ? "" : " " + start.version);
  if (start.tensor_parallel) text += fmt::format(", TP {}", *start.tensor_parallel);
  if (start.data_parallel.value_or(1) > 1) text += fmt::format(", DP {}", *start.data_parallel);
  if (start.expert_parallel) text += ", EP";
  if (start.custom_disabled.value_or(false)) text += ", disable_custom_all_reduce";
  if (start.eager.value_or(false)) text += ", without CUDA graphs";
  if (start.only_prefills) text += ", only prefills";
  return text;
}

std::string transfer_text(const KvTransfers& one) {
  std::string text =
      fmt::format("{} in {} = {}", core::format_bytes(one.bytes), core::format_duration(one.time),
                  core::format_bandwidth(one.bytes / one.time));
  if (one.post > core::Duration())
    text += fmt::format(", of it {} posting", core::format_duration(one.post));
  if (one.descriptors > 0) text += fmt::format(" of {} descriptors", one.descriptors);
  return text + fmt::format(" ({}; the printed throughput adds up overlapping ones)",
                            one.count > 1 ? fmt::format("the mean of {} transfers", one.count)
                                          : "one transfer");
}

Json balance_json(const serving::ExpertBalance& one) {
  return {{"lines", one.lines},
          {"balancedness", core::json_number(one.mean)},
          {"lowest", core::json_number(one.lowest)},
          {"tokens", core::json_number(one.tokens)},
          {"over", one.of_layers ? "layers" : "ranks"},
          {"where", place_json(one.evidence)}};
}

Json failure_json(const serving::EngineFailure& one) {
  return {{"text", one.evidence.text},
          {"detail", one.detail.empty() ? Json() : Json(one.detail)},
          {"nic", one.nic.empty() ? Json() : Json(one.nic)},
          {"lines", one.times},
          {"where", place_json(one.evidence)}};
}

Json moe_json(const serving::MoeLines& moe) {
  Json json = {{"all2all", Json::array()},
               {"graphs_off", moe.graphs_off ? place_json(*moe.graphs_off) : Json()},
               {"balances", Json::array()},
               {"rearrangements", moe.rearrangements.count},
               {"rearranging_us", core::json_number(moe.rearrangements.total.in_us())},
               {"longest_rearranging_us", core::json_number(moe.rearrangements.longest.in_us())}};
  for (const serving::All2AllManager& one : moe.managers)
    json["all2all"].push_back({{"manager", one.name},
                               {"backend", one.backend.empty() ? Json() : Json(one.backend)},
                               {"where", place_json(one.evidence)}});
  for (const serving::ExpertBalance& one : moe.balances)
    json["balances"].push_back(balance_json(one));
  return json;
}

std::string balance_text(const serving::ExpertBalance& one) {
  return fmt::format("balancedness {:.3g} of {} over {} line{}, {:.3g} at least", one.mean,
                     one.of_layers ? "layers" : "ranks", one.lines, one.lines == 1 ? "" : "s",
                     one.lowest);
}

void add_moe(const serving::MoeLines& moe, core::KeyValues& rows) {
  for (const serving::All2AllManager& one : moe.managers)
    rows.rows.emplace_back("all-to-all",
                           one.name + (one.backend.empty() || one.backend == one.name
                                           ? ""
                                           : " (--all2all-backend " + one.backend + ")"));
  if (moe.graphs_off) rows.rows.emplace_back("graphs off", moe.graphs_off->text);
  for (const serving::ExpertBalance& one : moe.balances)
    rows.rows.emplace_back("experts", balance_text(one));
  if (const auto& moves = moe.rearrangements; moves.count > 0)
    rows.rows.emplace_back(
        "experts moved",
        fmt::format("{} time{}, {} together, {} at most", moves.count, moves.count == 1 ? "" : "s",
                    core::format_duration(moves.total), core::format_duration(moves.longest)));
}

void add_failures(const serving::EngineFailures& failures, core::KeyValues& rows) {
  for (const serving::EngineFailure& one : failures.all)
    rows.rows.emplace_back(
        "failed", one.evidence.text + (one.times > 1 ? fmt::format(" ({} lines)", one.times) : ""));
  if (failures.failed_transfers.number > 0)
    rows.rows.emplace_back("KV transfers",
                           fmt::format("{} failed", failures.failed_transfers.number));
  if (failures.expired_requests.number > 0)
    rows.rows.emplace_back("KV blocks",
                           fmt::format("of {} requests expired", failures.expired_requests.number));
}

}  // namespace

Json engine_json(const EngineFacts& facts) {
  Json json = {{"starts", Json::array()},
               {"backend_lists", Json::array()},
               {"off", Json::array()},
               {"nccl", facts.lines.nccl.empty() ? Json() : Json(facts.lines.nccl)},
               {"graph_addresses", optional_json(facts.lines.graph_addresses)},
               {"kv_transfers", Json::array()},
               {"moe", facts.moe.empty() ? Json() : moe_json(facts.moe)},
               {"failed_transfers", facts.failures.failed_transfers.number},
               {"expired_requests", facts.failures.expired_requests.number},
               {"failures", Json::array()}};
  for (const EngineStart& start : facts.lines.starts)
    json["starts"].push_back({{"engine", start.engine},
                              {"version", start.version.empty() ? Json() : Json(start.version)},
                              {"tensor_parallel", optional_json(start.tensor_parallel)},
                              {"custom_all_reduce_disabled", optional_json(start.custom_disabled)},
                              {"eager", optional_json(start.eager)},
                              {"only_prefills", start.only_prefills}});
  for (const BackendList& list : facts.lines.lists)
    json["backend_lists"].push_back({{"group", list.group},
                                     {"built", list.built},
                                     {"potential", list.potential},
                                     {"where", place_json(list.evidence)}});
  for (const BackendOff& off : facts.lines.off)
    json["off"].push_back({{"backend", off.backend},
                           {"text", off.evidence.text},
                           {"lines", off.times},
                           {"where", place_json(off.evidence)}});
  for (const KvTransfers& one : facts.kv.transfers)
    json["kv_transfers"].push_back(transfer_json(one));
  for (const serving::EngineFailure& one : facts.failures.all)
    json["failures"].push_back(failure_json(one));
  return json;
}

std::vector<core::Block> engine_blocks(const EngineFacts& facts) {
  core::KeyValues rows;
  for (const EngineStart& start : facts.lines.starts)
    rows.rows.emplace_back("engine", start_text(start));
  if (!facts.lines.nccl.empty()) rows.rows.emplace_back("its NCCL", facts.lines.nccl);
  for (const BackendList& list : facts.lines.lists)
    rows.rows.emplace_back(list.group.empty() ? "group" : list.group,
                           fmt::format("reduces with {}", fmt::join(list.built, ", then ")));
  for (const BackendOff& off : facts.lines.off)
    rows.rows.emplace_back(
        off.backend + " off",
        off.evidence.text + (off.times > 1 ? fmt::format(" ({} lines)", off.times) : ""));
  if (facts.lines.graph_addresses)
    rows.rows.emplace_back("CUDA graphs",
                           fmt::format("{} addresses registered", *facts.lines.graph_addresses));
  if (!facts.kv.connector.empty())
    rows.rows.emplace_back(
        "KV connector",
        facts.kv.connector + (facts.kv.buffer.empty() ? "" : ", buffers in " + facts.kv.buffer));
  for (const KvTransfers& one : facts.kv.transfers)
    rows.rows.emplace_back("KV transfer", transfer_text(one));
  add_moe(facts.moe, rows);
  add_failures(facts.failures, rows);
  if (rows.rows.empty()) return {};
  return {core::Heading{"Inference engine"}, rows};
}

}  // namespace comm_probe::cli
