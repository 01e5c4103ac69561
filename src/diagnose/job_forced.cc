#include "diagnose/job_forced.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "diagnose/log_rules.h"
#include "diagnose/nccl_choice.h"
#include "nccl/choice.h"
#include "nccl/modelled_settings.h"

namespace comm_probe::diagnose {
namespace {

using core::Bytes;
using nccl::Call;

constexpr std::size_t kMostEvidence = 8;

// Those that the plan models; a plugin's own are its business.
nccl::Environment modelled_of(const nccl::DebugLog& log) {
  nccl::Environment environment;
  for (const nccl::LogSetting& setting : log.settings)
    if (!setting.by_plugin && !setting.value.empty() && nccl::is_modelled(setting.name))
      environment.emplace(setting.name, setting.value);
  return environment;
}

// Of one function: what the log says was called most, AllReduce where it says nothing.
nccl::Function function_of(const nccl::LogComm& comm) {
  for (const nccl::LogChoice& choice : comm.choices)
    if (choice.function == "AllReduce") return nccl::Function::kAllReduce;
  for (const nccl::LogChoice& choice : comm.choices)
    if (const auto function = nccl::function_from_name(choice.function)) return *function;
  return nccl::Function::kAllReduce;
}

// NCCL prints the bytes of one rank's count, whatever the type.
Call call_of_choice(nccl::Function function, std::uint64_t bytes) {
  const auto type = bytes % 4 == 0 ? nccl::DataType::kFloat32 : nccl::DataType::kUint8;
  return {function, bytes / static_cast<std::uint64_t>(size_of(type)), type};
}

// The job's calls in the log, its kernels, else sizes of both ledgers.
std::vector<Call> calls_of(const nccl::LogComm& comm, const std::vector<JobMessage>& messages) {
  const nccl::Function function = function_of(comm);
  std::vector<Call> calls;
  for (const nccl::LogChoice& choice : comm.choices)
    if (choice.function.empty() || choice.function == function_name(function))
      calls.push_back(call_of_choice(function, choice.bytes));
  for (const JobMessage& message : messages)
    if (nccl::function_of(message.op) == function)
      calls.push_back(nccl::call_of(function, message.bytes.whole(), comm.size));
  if (calls.empty())
    for (const double mib : {0.0625, 1.0, 25.0, 256.0, 1024.0})
      calls.push_back(
          nccl::call_of(function, static_cast<std::uint64_t>(mib * 1048576), comm.size));
  const auto by_bytes = [](const Call& a, const Call& b) {
    return a.rank_bytes() < b.rank_bytes();
  };
  std::sort(calls.begin(), calls.end(), by_bytes);
  calls.erase(
      std::unique(calls.begin(), calls.end(),
                  [](const Call& a, const Call& b) { return a.rank_bytes() == b.rank_bytes(); }),
      calls.end());
  return calls;
}

std::vector<ForcedSize> sizes_of(const nccl::Tuning& made, const nccl::Tuning& free,
                                 const std::vector<Call>& calls) {
  std::vector<ForcedSize> sizes;
  for (const Call& call : calls) {
    auto with = choose(made, call), without = choose(free, call);
    if (with && without)
      sizes.push_back(
          {call.bytes(made.job.agreement.ranks), std::move(*with), std::move(*without)});
  }
  return sizes;
}

// The job with some of its settings left out, at the sizes of its calls.
class Prices {
 public:
  // Only what finding `id` is about counts: the time, or the channels.
  Prices(const PlannedJob& job, const std::vector<Call>& calls, const JobPricer& pricer,
         std::string_view id)
      : job_(job), calls_(calls), pricer_(pricer), id_(id) {}

  // Empty where one of the two cannot be priced.
  std::vector<ForcedSize> sizes(const nccl::Environment& with,
                                const nccl::Environment& without) const {
    const nccl::Tuning* made = pricer_.tuning_of({job_.ranks, job_.nodes, with});
    const nccl::Tuning* free = pricer_.tuning_of({job_.ranks, job_.nodes, without});
    if (made == nullptr || free == nullptr) return {};
    return sizes_of(*made, *free, calls_);
  }
  // What leaving settings out spares, where that is worth saying.
  std::optional<core::Finding> loss(const ForcedCost& cost) const {
    for (core::Finding& finding : judge_forced_choice(cost))
      if (finding.id == id_) return std::move(finding);
    return std::nullopt;
  }
  bool gains(const nccl::Environment& with, const nccl::Environment& without) const {
    ForcedCost cost;
    cost.sizes = sizes(with, without);
    return loss(cost).has_value();
  }
  const nccl::Environment& settings() const { return job_.environment; }

 private:
  const PlannedJob& job_;
  const std::vector<Call>& calls_;
  const JobPricer& pricer_;
  std::string_view id_;
};

nccl::Environment without(nccl::Environment environment, const nccl::Environment& left_out) {
  for (const auto& [name, value] : left_out) environment.erase(name);
  return environment;
}

// Those whose removal helps one after the other: NCCL_ALGO=Ring first, then the setting that
// forbids what NCCL would take instead.
nccl::Environment those_that_cost(const Prices& prices) {
  nccl::Environment costly;
  bool is_done = false;
  while (!is_done) {
    is_done = true;
    const nccl::Environment now = without(prices.settings(), costly);
    for (const auto& [name, value] : now)
      if (is_done && prices.gains(now, without(now, {{name, value}}))) {
        costly.emplace(name, value);
        is_done = false;
      }
  }
  return costly;
}

// Only those that cannot stay without a loss.
nccl::Environment needed_of(nccl::Environment costly, const Prices& prices) {
  const nccl::Environment all = costly;
  for (const auto& [name, value] : all) {
    nccl::Environment fewer = costly;
    fewer.erase(name);
    if (!prices.gains(without(prices.settings(), fewer), without(prices.settings(), costly)))
      costly = std::move(fewer);
  }
  return costly;
}

// The smallest set found whose removal helps; empty where none does. Where no single one helps,
// two of them do the same.
nccl::Environment guilty_of(const Prices& prices) {
  nccl::Environment costly = those_that_cost(prices);
  if (costly.empty() && prices.gains(prices.settings(), {})) costly = prices.settings();
  const nccl::Environment needed = needed_of(costly, prices);
  return needed.empty() ? costly : needed;
}

std::string method_text(const nccl::Choice& choice) {
  return fmt::format("{} {} on {} channel{}", table_name(choice.taken.algorithm),
                     table_name(choice.taken.protocol), choice.launch.channels,
                     choice.launch.channels == 1 ? "" : "s");
}

core::Evidence evidence_of(const ForcedSize& size) {
  return {
      "tuning model of NCCL 2.28.9",
      {},
      fmt::format("{}: {} with {}, {} with {} without",
                  core::format_bytes(Bytes::of(static_cast<double>(size.bytes))),
                  core::format_duration(size.made.taken.time.duration()), method_text(size.made),
                  core::format_duration(size.free.taken.time.duration()), method_text(size.free))};
}

void add_evidence(core::Finding& finding, const nccl::DebugLog& log,
                  const nccl::Environment& settings, const std::vector<ForcedSize>& sizes) {
  for (const auto& [name, value] : settings)
    finding.evidence.push_back(log_evidence(log, log.setting(name)->first));
  for (const ForcedSize& size : sizes)
    if (finding.evidence.size() < kMostEvidence) finding.evidence.push_back(evidence_of(size));
  if (finding.id != "nccl.choice-forced") return;
  finding.summary +=
      "; NCCL chooses by itself per size, from the latency and bandwidth of each algorithm on this "
      "topology";
  finding.next.push_back(
      "where nccl-tests proves one size wrong: comm-probe nccl choose all_reduce --topo "
      "FILE --tuner FILE (a tuner for those sizes)");
}

void add_loss(const nccl::DebugLog& log, ForcedCost cost, const Prices& prices,
              Judgement& judgement) {
  const nccl::Environment guilty = guilty_of(prices);
  if (guilty.empty()) return;
  for (const auto& [name, value] : guilty) cost.settings.push_back(name + "=" + value);
  cost.sizes = prices.sizes(prices.settings(), without(prices.settings(), guilty));
  auto finding = prices.loss(cost);
  if (!finding) return;
  add_evidence(*finding, log, guilty, cost.sizes);
  judgement.findings.push_back(std::move(*finding));
}

}  // namespace

Judgement judge_forced_settings(const nccl::DebugLog& log, const std::vector<JobMessage>& messages,
                                const JobPricer* pricer) {
  Judgement judgement;
  const nccl::Environment settings = modelled_of(log);
  if (pricer == nullptr || settings.empty() || log.comms.empty()) return judgement;
  const nccl::LogComm& comm = *std::max_element(
      log.comms.begin(), log.comms.end(),
      [](const nccl::LogComm& a, const nccl::LogComm& b) { return a.size < b.size; });
  if (comm.size < 2) return judgement;
  const PlannedJob job{comm.size, std::max(1, comm.nodes), settings};
  const std::vector<Call> calls = calls_of(comm, messages);
  ForcedCost cost;
  cost.function = function_name(calls.front().function);
  cost.where =
      fmt::format(" on {} ranks of {} node{}", job.ranks, job.nodes, job.nodes > 1 ? "s" : "");
  for (const char* id : {"nccl.choice-forced", "nccl.fewer-channels"})
    add_loss(log, cost, Prices(job, calls, *pricer, id), judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
