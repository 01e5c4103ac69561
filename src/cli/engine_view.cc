#include "cli/engine_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using serving::BackendList;
using serving::BackendOff;
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
  if (start.custom_disabled.value_or(false)) text += ", disable_custom_all_reduce";
  if (start.eager.value_or(false)) text += ", without CUDA graphs";
  return text;
}

std::string transfer_text(const KvTransfers& one) {
  std::string text =
      fmt::format("{} in {} = {}", core::format_bytes(one.bytes), core::format_duration(one.time),
                  core::format_bandwidth(one.bytes / one.time));
  if (one.post > core::Duration())
    text += fmt::format(", of it {} posting", core::format_duration(one.post));
  if (one.descriptors > 0) text += fmt::format(" of {} descriptors", one.descriptors);
  return text + " (one transfer; the printed throughput adds up overlapping ones)";
}

}  // namespace

Json engine_json(const EngineFacts& facts) {
  Json json = {{"starts", Json::array()},
               {"backend_lists", Json::array()},
               {"off", Json::array()},
               {"nccl", facts.lines.nccl.empty() ? Json() : Json(facts.lines.nccl)},
               {"graph_addresses", optional_json(facts.lines.graph_addresses)},
               {"kv_transfers", Json::array()}};
  for (const EngineStart& start : facts.lines.starts)
    json["starts"].push_back({{"engine", start.engine},
                              {"version", start.version.empty() ? Json() : Json(start.version)},
                              {"tensor_parallel", optional_json(start.tensor_parallel)},
                              {"custom_all_reduce_disabled", optional_json(start.custom_disabled)},
                              {"eager", optional_json(start.eager)}});
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
  if (rows.rows.empty()) return {};
  return {core::Heading{"Inference engine"}, rows};
}

}  // namespace comm_probe::cli
