#include "torch/readers/trace_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "torch/readers/trace_event.h"
#include "torch/readers/trace_groups.h"

namespace comm_probe::torch {
namespace {

using nlohmann::json;

constexpr std::string_view kKeys[] = {"distributedInfo", "deviceProperties", "baseTimeNanoseconds"};

std::optional<std::int64_t> integer(const json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (value->is_string()) return parse_integer(value->get_ref<const std::string&>());
  return std::nullopt;
}

std::string text(const json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) return {};
  if (value->is_string()) return value->get<std::string>();
  return value->is_number_integer() ? std::to_string(value->get<std::int64_t>()) : std::string();
}

std::string list_dump(const json& list) {
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

// A list of numbers, or a text "[0, 1, ...]" that may be shortened (on-demand traces).
std::string list_text(const json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) return {};
  return value->is_string()  ? value->get<std::string>()
         : value->is_array() ? list_dump(*value)
                             : "";
}

TraceGroup configured_group(const json& entry) {
  const std::string name = text(entry, "pg_name");
  const std::string description = text(entry, "pg_desc");
  const std::string ranks = list_text(entry, "ranks");
  TraceGroups one;
  one.number({name, description, ranks, integer(entry, "pg_size").value_or(0)});
  auto groups = one.finish({});
  TraceGroup group = groups.empty() ? TraceGroup{} : std::move(groups.front());
  group.backend = text(entry, "backend_config");
  return group;
}

void read_distributed(const json& info, Trace& trace, std::vector<TraceGroup>& configured) {
  constexpr std::int64_t kMost = 1 << 30;
  const auto rank = integer(info, "rank");
  if (rank && *rank >= 0 && *rank < kMost) {
    trace.rank = static_cast<int>(*rank);
    trace.rank_source = RankSource::kDistributedInfo;
  }
  const auto world = integer(info, "world_size");
  if (world && *world > 0 && *world < kMost) trace.world_size = static_cast<int>(*world);
  trace.backend = text(info, "backend");
  trace.library_version = text(info, "nccl_version");
  const auto groups = info.find("pg_config");
  if (groups == info.end() || !groups->is_array()) return;
  for (const json& entry : *groups)
    if (entry.is_object() && !text(entry, "pg_name").empty())
      configured.push_back(configured_group(entry));
}

// The first device that has a name: the devices of one host are of one kind.
void read_devices(const json& devices, Trace& trace) {
  for (const json& device : devices) {
    if (!device.is_object() || !trace.gpu_name.empty()) continue;
    trace.gpu_name = text(device, "name");
    trace.sm_count =
        static_cast<int>(std::clamp<std::int64_t>(integer(device, "numSms").value_or(0), 0, 4096));
  }
}

}  // namespace

bool is_header_key(std::string_view key) {
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

void read_header_value(std::string_view key, std::string_view value, Trace& trace,
                       std::vector<TraceGroup>& configured) {
  if (key == "baseTimeNanoseconds") {
    const auto base = parse_integer(value);
    // 4.6e18: in 2115; half of what an int64 holds
    if (base && *base >= 0 && *base < 4'600'000'000'000'000'000) trace.base_time = *base;
    return;
  }
  const json document = json::parse(value, nullptr, false);
  if (key == "distributedInfo" && document.is_object())
    read_distributed(document, trace, configured);
  if (key == "deviceProperties" && document.is_array()) read_devices(document, trace);
}

}  // namespace comm_probe::torch
