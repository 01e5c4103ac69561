#include "cli/choose_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/plan_tuning_json.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Json;
using core::Table;
using nccl::Algorithm;
using nccl::Candidate;
using nccl::Choice;
using nccl::Forced;
using nccl::Protocol;

std::string method_text(const Candidate& candidate) {
  return fmt::format("{} {}", table_name(candidate.algorithm), table_name(candidate.protocol));
}

const char* ledger_name(bool is_latency) { return is_latency ? "latency" : "bandwidth"; }

// Bandwidth as nccl-tests prints it; zero where nothing takes time.
core::Bandwidth algorithm_bandwidth(std::uint64_t bytes, nccl::NcclTime time) {
  return time.us > 0 ? core::Bytes::of(bytes) / time.duration() : core::Bandwidth();
}
double busbw_factor(const ChoosePlan& plan) {
  return model::busbw_factor(op_of(plan.call.function), plan.tuning.job.agreement.ranks);
}

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

Table choice_table(const ChoosePlan& plan) {
  Table table{{{"size"},
               {"algorithm", Column::Align::kLeft},
               {"protocol", Column::Align::kLeft},
               {"channels"},
               {"threads", Column::Align::kRight, 5},
               {"time"},
               {"algbw GB/s", Column::Align::kRight, 4},
               {"busbw GB/s"},
               {"ledger", Column::Align::kLeft, 6}},
              {}};
  for (const ChosenSize& size : plan.sizes) {
    const std::uint64_t bytes = size.call.bytes(plan.tuning.job.agreement.ranks);
    const std::string text = core::format_bytes(core::Bytes::of(bytes));
    if (!size.choice) {
      table.rows.push_back({text, "refused", "", "", "", "", "", "", ""});
      continue;
    }
    const Choice& choice = *size.choice;
    const double algbw = algorithm_bandwidth(bytes, choice.taken.time).in_GBps();
    table.rows.push_back(
        {text, table_name(choice.taken.algorithm), table_name(choice.taken.protocol),
         fmt::to_string(choice.launch.channels), fmt::to_string(choice.launch.threads),
         core::format_duration(choice.taken.time.duration()), core::format_number(algbw, 3),
         core::format_number(algbw * busbw_factor(plan), 3),
         ledger_name(choice.taken.pays_latency())});
  }
  return table;
}

// Algorithms and protocols that any size could use.
struct Columns {
  std::vector<Algorithm> algorithms = {};
  std::vector<Protocol> protocols = {};
};
Columns columns_of(const ChoosePlan& plan) {
  Columns columns;
  const auto any = [&](auto method) {
    return std::any_of(plan.sizes.begin(), plan.sizes.end(), [&](const ChosenSize& size) {
      return size.choice.ok() && nccl::forced(*size.choice, method).has_value();
    });
  };
  for (const Algorithm algorithm : nccl::kAllAlgorithms)
    if (any(algorithm)) columns.algorithms.push_back(algorithm);
  for (const Protocol protocol : nccl::kAllProtocols)
    if (any(protocol)) columns.protocols.push_back(protocol);
  return columns;
}

std::string ratio_text(const std::optional<Forced>& forced) {
  if (!forced) return "-";
  if (forced->ratio == 1) return "taken";
  return fmt::format("{}x {}", core::format_number(forced->ratio, 3),
                     forced->is_latency_paid ? "lat" : "bw");
}

Table forced_table(const ChoosePlan& plan) {
  const Columns columns = columns_of(plan);
  Table table{{{"size"}}, {}};
  for (const Algorithm algorithm : columns.algorithms)
    table.columns.push_back({table_name(algorithm)});
  for (const Protocol protocol : columns.protocols) table.columns.push_back({table_name(protocol)});
  for (const ChosenSize& size : plan.sizes) {
    if (!size.choice) continue;
    std::vector<std::string> row = {
        core::format_bytes(core::Bytes::of(size.call.bytes(plan.tuning.job.agreement.ranks)))};
    for (const Algorithm algorithm : columns.algorithms)
      row.push_back(ratio_text(nccl::forced(*size.choice, algorithm)));
    for (const Protocol protocol : columns.protocols)
      row.push_back(ratio_text(nccl::forced(*size.choice, protocol)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Latency and bandwidth of every combination of this function, and why it is not taken.
Table model_table(const ChoosePlan& plan) {
  Table table{{{"algorithm", Column::Align::kLeft},
               {"protocol", Column::Align::kLeft},
               {"latency"},
               {"GB/s"},
               {"not taken because", Column::Align::kLeft, 8}},
              {}};
  for (const Algorithm algorithm : nccl::kAllAlgorithms)
    for (const Protocol protocol : nccl::kAllProtocols) {
      const nccl::MethodCost& cost = plan.tuning.cost(plan.call.function, algorithm, protocol);
      if (cost.refusal == nccl::Refusal::kNotOffered) continue;
      table.rows.push_back({table_name(algorithm), table_name(protocol),
                            core::format_duration(cost.latency.duration()),
                            core::format_number(cost.bandwidth.GBps),
                            nccl::refusal_text(cost.refusal)});
    }
  return table;
}

std::string job_text(const ChoosePlan& plan) {
  const nccl::Agreement& all = plan.tuning.job.agreement;
  return fmt::format("{} on {} ranks, {} node{}", function_name(plan.call.function), all.ranks,
                     all.nodes, all.nodes == 1 ? "" : "s");
}

// "Tree LL below 256 KiB, Tree LL128 below 2 MiB, then NVLSTree Simple"
std::string verdict_of(const ChoosePlan& plan) {
  if (plan.tuning.job.agreement.ranks <= 1) return job_text(plan) + ": a lone rank copies";
  std::string text;
  for (const nccl::Crossover& crossover : plan.crossovers)
    text += fmt::format("{} below {}, ", method_text(crossover.from),
                        core::format_bytes(core::Bytes::of(crossover.bytes)));
  const auto last = std::find_if(plan.sizes.rbegin(), plan.sizes.rend(),
                                 [](const ChosenSize& size) { return size.choice.ok(); });
  if (last == plan.sizes.rend()) return job_text(plan) + ": NCCL refuses the call";
  return fmt::format("{}: {}{}{}", job_text(plan), text, text.empty() ? "" : "then ",
                     method_text(last->choice->taken));
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

core::Document choose_document(const ChoosePlan& plan) {
  core::Document document{.command = "nccl"};
  const nccl::Agreement& all = plan.tuning.job.agreement;
  const topology::NcclVersion version = plan.tuning.job.settings.version;
  Json rows = Json::array();
  for (const ChosenSize& size : plan.sizes) rows.push_back(row_json(plan, size));
  document.result = {
      {"nccl_version", fmt::format("{}.{}.{}", version.major, version.minor, version.patch)},
      {"op", model::op_name(op_of(plan.call.function))},
      {"dtype", data_type_name(plan.call.type)},
      {"redop", reduction_name(plan.call.reduction)},
      {"ranks", all.ranks},
      {"nccl_nodes", all.nodes},
      {"basis", basis_name(core::Basis::kComputed)},
      {"source", "NCCL's tuning model on the graphs of its own search"},
      {"rows", rows},
      {"crossovers", crossovers_json(plan)}};
  document.verdict = verdict_of(plan);
  document.body.emplace_back(core::Heading{"What NCCL takes"});
  document.body.emplace_back(choice_table(plan));
  const bool is_any_taken = std::any_of(plan.sizes.begin(), plan.sizes.end(),
                                        [](const ChosenSize& size) { return size.choice.ok(); });
  if (all.ranks > 1 && is_any_taken) {
    document.body.emplace_back(core::Heading{"What forcing another one costs"});
    document.body.emplace_back(forced_table(plan));
    document.body.emplace_back(core::Paragraph{
        "Times the time of what is taken, with the best that NCCL_ALGO or NCCL_PROTO would leave; "
        "lat: the steps pay for it, bw: the bytes. All times are NCCL's own estimate."});
  }
  if (all.ranks > 1) {
    document.details.emplace_back(core::Heading{"NCCL's table for this function"});
    document.details.emplace_back(model_table(plan));
  }
  return document;
}

}  // namespace comm_probe::cli
