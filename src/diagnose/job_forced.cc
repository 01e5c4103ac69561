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

bool is_same(const nccl::Choice& a, const nccl::Choice& b) {
  return a.taken.algorithm == b.taken.algorithm && a.taken.protocol == b.taken.protocol &&
         a.launch.channels == b.launch.channels && a.taken.time.us == b.taken.time.us;
}

// Another choice is made where this one setting is left out.
bool matters(const std::string& name, PlannedJob job, const std::vector<Call>& calls,
             const JobPricer& pricer) {
  const nccl::Tuning* made = pricer.tuning_of(job);
  job.environment.erase(name);
  const nccl::Tuning* without = pricer.tuning_of(job);
  if (made == nullptr || without == nullptr) return true;
  const std::vector<ForcedSize> sizes = sizes_of(*made, *without, calls);
  return sizes.empty() || std::any_of(sizes.begin(), sizes.end(), [](const ForcedSize& size) {
           return !is_same(size.made, size.free);
         });
}

// Where no single one matters, two of them do the same: all are named.
nccl::Environment those_that_matter(const PlannedJob& job, const std::vector<Call>& calls,
                                    const JobPricer& pricer) {
  nccl::Environment left;
  for (const auto& [name, value] : job.environment)
    if (matters(name, job, calls, pricer)) left.emplace(name, value);
  return left.empty() ? job.environment : left;
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
  const nccl::Tuning* made = pricer->tuning_of(job);
  const nccl::Tuning* free = pricer->tuning_of({job.ranks, job.nodes, {}});
  if (made == nullptr || free == nullptr) return judgement;
  const std::vector<Call> calls = calls_of(comm, messages);
  const nccl::Environment guilty = those_that_matter(job, calls, *pricer);
  ForcedCost cost;
  for (const auto& [name, value] : guilty) cost.settings.push_back(name + "=" + value);
  cost.function = function_name(calls.front().function);
  cost.where =
      fmt::format(" on {} ranks of {} node{}", job.ranks, job.nodes, job.nodes > 1 ? "s" : "");
  cost.sizes = sizes_of(*made, *free, calls);
  judgement.findings = judge_forced_choice(cost);
  for (core::Finding& finding : judgement.findings) add_evidence(finding, log, guilty, cost.sizes);
  return judgement;
}

}  // namespace comm_probe::diagnose
