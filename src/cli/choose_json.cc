#include "cli/choose_json.h"

#include <fmt/format.h>

#include "cli/nccl_job.h"
#include "cli/plan_tuning_json.h"

namespace comm_probe::cli {

core::Bandwidth algorithm_bandwidth(std::uint64_t bytes, nccl::NcclTime time) {
  return time.us > 0 ? core::Bytes::of(bytes) / time.duration() : core::Bandwidth();
}

double busbw_factor(const ChoosePlan& plan) {
  return model::busbw_factor(op_of(plan.call.function), plan.tuning.job.agreement.ranks);
}

const char* ledger_name(bool is_latency) { return is_latency ? "latency" : "bandwidth"; }

namespace {

using core::Json;
using nccl::Algorithm;
using nccl::Candidate;
using nccl::Choice;
using nccl::Forced;
using nccl::Protocol;

Json method_json(const Candidate& candidate) {
  return {{"algorithm", table_name(candidate.algorithm)},
          {"protocol", table_name(candidate.protocol)}};
}

Json candidate_json(const Candidate& candidate) {
  Json json = method_json(candidate);
  json["time_us"] = json_time(candidate.time);
  json["latency_us"] = json_time(candidate.latency);
  json["bandwidth_us"] = json_time(candidate.bandwidth);
  return json;
}

Json forced_json(const std::string& setting, const Forced& forced) {
  Json json = {{"setting", setting}};
  json.update(candidate_json(forced.candidate));
  json["ratio"] = core::json_number(forced.ratio);
  json["pays"] = ledger_name(forced.is_latency_paid);
  return json;
}

Json all_forced_json(const Choice& choice) {
  Json all = Json::array();
  for (const Algorithm algorithm : nccl::kAllAlgorithms)
    if (const auto one = nccl::forced(choice, algorithm))
      all.push_back(forced_json(fmt::format("NCCL_ALGO={}", table_name(algorithm)), *one));
  for (const Protocol protocol : nccl::kAllProtocols)
    if (const auto one = nccl::forced(choice, protocol))
      all.push_back(forced_json(fmt::format("NCCL_PROTO={}", table_name(protocol)), *one));
  return all;
}

Json row_json(const ChoosePlan& plan, const ChosenSize& size) {
  const std::uint64_t bytes = size.call.bytes(plan.tuning.job.agreement.ranks);
  if (!size.choice) return {{"bytes", bytes}, {"error", size.choice.error().message}};
  const Choice& choice = *size.choice;
  const core::Bandwidth algbw = algorithm_bandwidth(bytes, choice.taken.time);
  Json row = {{"bytes", bytes}};
  row.update(candidate_json(choice.taken));
  row["ledger"] = ledger_name(choice.taken.pays_latency());
  row["channels"] = choice.launch.channels;
  row["channel_limit"] = choice.launch.channel_limit;
  row["threads"] = choice.launch.threads;
  row["chunk_bytes"] = choice.launch.chunk;
  row["algbw_GBps"] = core::json_number(algbw.in_GBps());
  row["busbw_GBps"] = core::json_number(algbw.in_GBps() * busbw_factor(plan));
  row["forced"] = all_forced_json(choice);
  Json others = Json::array();
  for (const Candidate& other : choice.others) {
    others.push_back(candidate_json(other));
    others.back()["ratio"] = core::json_number(nccl::compared(choice, other).ratio);
  }
  row["candidates"] = others;
  Json declined = Json::array();
  for (const nccl::Declined& one : choice.declined)
    declined.push_back({{"algorithm", table_name(one.algorithm)},
                        {"protocol", table_name(one.protocol)},
                        {"reason", one.reason}});
  row["declined"] = declined;
  return row;
}

Json crossovers_json(const ChoosePlan& plan) {
  Json all = Json::array();
  for (const nccl::Crossover& crossover : plan.crossovers)
    all.push_back({{"bytes", crossover.bytes},
                   {"from", method_json(crossover.from)},
                   {"to", method_json(crossover.to)}});
  return all;
}

}  // namespace

Json choose_json(const ChoosePlan& plan) {
  const nccl::Agreement& all = plan.tuning.job.agreement;
  Json rows = Json::array();
  for (const ChosenSize& size : plan.sizes) rows.push_back(row_json(plan, size));
  return {{"nccl_version", nccl_version_text(plan.tuning.job.settings.version)},
          {"op", model::op_name(op_of(plan.call.function))},
          {"dtype", data_type_name(plan.call.type)},
          {"redop", reduction_name(plan.call.reduction)},
          {"ranks", all.ranks},
          {"nccl_nodes", all.nodes},
          {"basis", basis_name(core::Basis::kComputed)},
          {"source", "NCCL's tuning model on the graphs of its own search"},
          {"rows", rows},
          {"crossovers", crossovers_json(plan)}};
}

}  // namespace comm_probe::cli
