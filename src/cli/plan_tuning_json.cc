#include "cli/plan_tuning_json.h"

#include <fmt/format.h>

#include "cli/plan_json.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using nccl::index_of;
using nccl::Tuning;

constexpr std::uint64_t kFirstSize = 8;
constexpr std::uint64_t kLastSize = std::uint64_t{8} << 30;

template <class Value>
Json methods_json(const nccl::PerMethod<Value>& values) {
  Json json = Json::object();
  for (const nccl::Algorithm algorithm : nccl::kAllAlgorithms)
    json[call_name(algorithm)] = values[index_of(algorithm)];
  return json;
}

// Algorithms with all zeros are left out.
Json costs_json(const Tuning& tuning, nccl::Function function) {
  Json json = Json::object();
  for (const nccl::Algorithm algorithm : nccl::kAllAlgorithms) {
    Json latency = Json::array();
    Json bandwidth = Json::array();
    bool is_there = false;
    for (const nccl::Protocol protocol : nccl::kAllProtocols) {
      const nccl::MethodCost& cost = tuning.cost(function, algorithm, protocol);
      latency.push_back(json_time(cost.latency));
      bandwidth.push_back(json_rate(cost.bandwidth));
      is_there = is_there || cost.latency.us != 0 || cost.bandwidth.GBps != 0;
    }
    if (is_there) json[call_name(algorithm)] = {{"lat", latency}, {"bw", bandwidth}};
  }
  return json;
}

// Sizes that hold no element per rank are left out.
std::vector<nccl::Call> calls_of(nccl::Function function, int ranks) {
  std::vector<nccl::Call> calls;
  for (std::uint64_t size = kFirstSize; size <= kLastSize; size *= 2)
    if (const auto call = nccl::call_of(function, size, ranks); call.count > 0)
      calls.push_back(call);
  return calls;
}

// [nBytes, algorithm, protocol, predicted us, channel limit, threads, channels, chunk], or [nBytes,
// "ERROR"] where NCCL refuses the call.
Json choice_row(std::uint64_t bytes, const core::Result<nccl::Choice>& choice) {
  if (!choice) return Json::array({bytes, "ERROR"});
  const nccl::Launch& launch = choice->launch;
  return Json::array({bytes, call_name(choice->taken.algorithm), call_name(choice->taken.protocol),
                      json_time(choice->taken.time), launch.channel_limit, launch.threads,
                      launch.channels, launch.chunk});
}

Json choices_json(const Tuning& tuning, nccl::Function function) {
  const int ranks = tuning.job.agreement.ranks;
  Json rows = Json::array();
  for (const nccl::Call& call : calls_of(function, ranks))
    rows.push_back(choice_row(call.bytes(ranks), choose(tuning, call)));
  return rows;
}

}  // namespace

std::vector<nccl::Call> calls_of_plan(const nccl::JobPlan& plan) {
  std::vector<nccl::Call> calls;
  for (const nccl::Function function : nccl::kAllFunctions)
    for (const nccl::Call& call : calls_of(function, plan.agreement.ranks)) calls.push_back(call);
  return calls;
}

Json json_time(nccl::NcclTime time) {
  return core::json_number(std::stod(fmt::format("{:.7g}", time.us)));
}

void add_tuning_json(Json& result, const Tuning& tuning) {
  if (tuning.job.agreement.ranks <= 1) return;
  constexpr std::array kOrder = {nccl::Function::kAllReduce, nccl::Function::kAllGather,
                                 nccl::Function::kReduceScatter, nccl::Function::kBroadcast,
                                 nccl::Function::kReduce};
  Json table = Json::object();
  Json choices = Json::object();
  for (const nccl::Function function : kOrder) {
    table[function_name(function)] = costs_json(tuning, function);
    choices[function_name(function)] = choices_json(tuning, function);
  }
  result["tuning"] = {{"max_threads", methods_json(tuning.max_threads)},
                      {"thread_thresholds", methods_json(tuning.thread_thresholds)},
                      {"table", table}};
  result["choice"] = choices;
}

}  // namespace comm_probe::cli
