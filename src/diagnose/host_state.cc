#include "diagnose/host_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Basis;
using core::Confidence;
using core::Figure;
using core::Finding;
using core::Severity;
using topology::GpuPlace;
using topology::HostState;

constexpr std::array kLimits = {
    NetLimit{"cpus_per_rank", 2, "CPUs that a rank and its NCCL proxy thread keep busy",
             "one proxy progress thread for each process that uses a network (NCCL 2.28.9 "
             "src/proxy.cc); the main thread launches"},
    NetLimit{"throttled_part", 0.01, "periods in which the quota was used up, of all", "assumed"},
    NetLimit{"shared_memory_low_MiB", 64, "/dev/shm at or below it is the default of containers",
             "Docker's --shm-size default"},
    NetLimit{"shared_memory_enough_MiB", 1024, "/dev/shm that NCCL and data loaders of 8 ranks fit",
             "9.2 MiB for each channel and peer over shared memory (NCCL 2.28.9), 8 ranks"},
};

double limit_of(std::string_view name) { return limit_in(kLimits, name); }

// What each rule has to say; `unknown` and `idle` as in RuleAnswer.
struct Answer {
  std::vector<Finding> findings = {};
  std::string unknown = {};
  std::string idle = {};
};

std::string ranks_text(const HostState& state) {
  if (!state.one_rank.empty()) return "one rank (" + state.one_rank + ")";
  return fmt::format("{} rank{} (one for each GPU)", state.ranks, state.ranks == 1 ? "" : "s");
}

const char* const kInTheJob =
    "the same command inside the job: srun --overlap --jobid=JOB, docker "
    "exec, kubectl exec";

Answer quota_enough(const HostState& state) {
  if (state.gpus.empty()) return {.idle = "no GPU"};
  if (!state.quota) return {};
  const double wanted = limit_of("cpus_per_rank") * state.ranks;
  if (state.quota->value >= wanted) return {};
  Finding finding = core::make_finding(
      "topo.cpu-quota",
      fmt::format("the cgroup grants {} CPUs of time, {} with their NCCL proxy threads want {}: "
                  "when it is used up they all stand still until the next period",
                  core::format_number(state.quota->value), ranks_text(state),
                  core::format_number(wanted)));
  finding.expected = Figure{wanted, "CPUs", Basis::kComputed, "2 for each rank"};
  finding.observed = Figure{state.quota->value, "CPUs", Basis::kRead, state.quota->from.source};
  finding.evidence = {state.quota->from};
  finding.confidence = Confidence::kLikely;
  finding.next = {kInTheJob, "cat " + state.quota->from.source};
  return {.findings = {std::move(finding)}};
}

// Since the group began; a build that ran there before counts too.
Answer never_throttled(const HostState& state) {
  if (!state.throttling) return {.unknown = "no cpu.stat with periods"};
  const auto& stat = state.throttling->value;
  const double part = static_cast<double>(stat.throttled) / static_cast<double>(stat.periods);
  if (part <= limit_of("throttled_part")) return {};
  Finding finding = core::make_finding(
      "topo.cpu-throttled",
      fmt::format("the cgroup was stopped in {} of {} periods since it began ({}): its CPU quota "
                  "was used up",
                  stat.throttled, stat.periods, core::format_percent(part)));
  finding.severity = Severity::kInfo;
  finding.evidence = {state.throttling->from};
  finding.confidence = Confidence::kPossible;
  finding.next = {"comm-probe topo check --watch 60s while the job runs", kInTheJob};
  return {.findings = {std::move(finding)}};
}

Answer affinity_enough(const HostState& state) {
  if (state.gpus.empty()) return {.idle = "no GPU"};
  const auto& allowed = state.allowed.value;
  if (allowed.empty()) return {.unknown = "no Cpus_allowed_list"};
  const double wanted = limit_of("cpus_per_rank") * state.ranks;
  const auto count = static_cast<double>(allowed.size());
  const bool is_narrowed = state.online.empty() || allowed.size() < state.online.size();
  if (count >= wanted || !is_narrowed) return {};
  Finding finding = core::make_finding(
      "topo.cpu-affinity",
      fmt::format("this process may run on {} CPU{} ({}), {} with proxy threads want {}",
                  allowed.size(), allowed.size() == 1 ? "" : "s", topology::cpu_list_text(allowed),
                  ranks_text(state), core::format_number(wanted)));
  finding.expected = Figure{wanted, "CPUs", Basis::kComputed, "2 for each rank"};
  finding.observed = Figure{count, "CPUs", Basis::kRead, state.allowed.from.source};
  finding.evidence = {state.allowed.from};
  finding.confidence = Confidence::kLikely;
  finding.next = {kInTheJob, "taskset -cp PID of a rank"};
  return {.findings = {std::move(finding)}};
}

Answer affinity_near(const HostState& state) {
  if (state.gpus.empty()) return {.idle = "no GPU"};
  const auto& allowed = state.allowed.value;
  if (allowed.empty()) return {.unknown = "no Cpus_allowed_list"};
  if (!state.one_rank.empty()) return {.idle = "one rank only, and which GPU it uses is not known"};
  std::string far;
  std::string nodes;
  int known = 0;
  for (const GpuPlace& gpu : state.gpus) {
    if (gpu.cpus.empty()) continue;
    ++known;
    const bool is_near = std::any_of(gpu.cpus.begin(), gpu.cpus.end(), [&](int cpu) {
      return std::binary_search(allowed.begin(), allowed.end(), cpu);
    });
    if (is_near) continue;
    far += fmt::format("{}GPU{}", far.empty() ? "" : " ", gpu.index);
    nodes = topology::cpu_list_text(gpu.cpus);
  }
  if (known == 0) return {.unknown = "no local_cpulist of a GPU"};
  if (far.empty()) return {};
  Finding finding = core::make_finding(
      "topo.cpu-far",
      fmt::format("this process may run on CPUs {}, none of them near {} (CPUs {}): its threads "
                  "and pinned memory stay on the other socket",
                  topology::cpu_list_text(allowed), far, nodes));
  finding.evidence = {state.allowed.from};
  finding.confidence = Confidence::kLikely;
  finding.next = {kInTheJob, "nvidia-smi topo -m (CPU Affinity), numactl --cpunodebind"};
  return {.findings = {std::move(finding)}};
}

Answer shared_memory_enough(const HostState& state) {
  if (!state.shared_memory) return {.unknown = "no mount of /dev/shm"};
  if (state.ranks < 2) return {.idle = "fewer than two ranks"};
  const double size = state.shared_memory->value.count() / 1048576;
  if (size >= limit_of("shared_memory_enough_MiB")) return {};
  Finding finding = core::make_finding(
      "topo.shm-small", fmt::format("/dev/shm has {}: NCCL's shared memory between {} ranks and "
                                    "the data loaders' do not fit",
                                    core::format_bytes(state.shared_memory->value), state.ranks));
  if (size > limit_of("shared_memory_low_MiB")) finding.severity = Severity::kInfo;
  finding.expected =
      Figure{limit_of("shared_memory_enough_MiB"), "MiB", Basis::kAssumed, "8 ranks on one node"};
  finding.observed = Figure{size, "MiB", Basis::kRead, state.shared_memory->from.source};
  finding.evidence = {state.shared_memory->from};
  finding.confidence = Confidence::kLikely;
  finding.next = {"df -h /dev/shm",
                  "docker run --shm-size=16g (or --ipc=host); in Kubernetes an "
                  "emptyDir of medium Memory"};
  return {.findings = {std::move(finding)}};
}

Answer ibgda_ready(const HostState& state) {
  if (!state.has_rdma) return {.idle = "no RDMA device"};
  if (!state.stream_memory_operations && !state.peer_mapping_override)
    return {.unknown = "no /proc/driver/nvidia/params"};
  std::string lacking;
  std::vector<core::Evidence> evidence;
  const auto need = [&](const topology::MaybeFact<bool>& fact, const char* what) {
    if (!fact || fact->value) return;
    lacking += (lacking.empty() ? "" : ", ") + std::string(what);
    evidence.push_back(fact->from);
  };
  need(state.stream_memory_operations, "NVreg_EnableStreamMemOPs=1");
  need(state.peer_mapping_override, "NVreg_RegistryDwords=\"PeerMappingOverride=1;\"");
  if (lacking.empty()) return {};
  const bool is_wanted = state.wants_ibgda.has_value();
  Finding finding = core::make_finding(
      "topo.ibgda-not-ready",
      fmt::format("{}the driver lacks {} for RDMA by the GPU (IBGDA){}",
                  is_wanted ? state.wants_ibgda->from.text + ", but " : "", lacking,
                  state.gdrcopy && !state.gdrcopy->value ? "; gdrdrv, which its CPU-assisted mode "
                                                           "needs, is not loaded either"
                                                         : ""));
  if (is_wanted) finding.severity = Severity::kWarning;
  finding.evidence = std::move(evidence);
  finding.confidence = is_wanted ? Confidence::kLikely : Confidence::kPossible;
  finding.next = {"cat /proc/driver/nvidia/params", "cat /etc/modprobe.d/*nvidia*"};
  return {.findings = {std::move(finding)}};
}

struct Rule {
  const char* what;
  Answer (*apply)(const HostState&);
};
constexpr Rule kRules[] = {
    {"the CPU quota is enough for ranks and proxy threads", quota_enough},
    {"the cgroup was not throttled", never_throttled},
    {"the affinity is wide enough", affinity_enough},
    {"the affinity reaches the CPUs of every GPU", affinity_near},
    {"/dev/shm is large enough", shared_memory_enough},
    {"the driver is ready for IBGDA", ibgda_ready},
};

std::string outcome_of(const Answer& answer) {
  if (!answer.unknown.empty()) return "not known: " + answer.unknown;
  if (!answer.idle.empty()) return "does not apply: " + answer.idle;
  if (answer.findings.empty()) return "fine";
  return answer.findings.front().severity == Severity::kInfo ? "see above" : "wrong";
}

}  // namespace

std::span<const NetLimit> host_limits() { return kLimits; }

NetJudgement judge_host_state(const HostState& state) {
  NetJudgement judgement;
  for (const Rule& rule : kRules) {
    const Answer answer = rule.apply(state);
    judgement.checks.push_back({rule.what, outcome_of(answer)});
    judgement.findings.insert(judgement.findings.end(), answer.findings.begin(),
                              answer.findings.end());
  }
  return judgement;
}

NetJudgement judge_host_change(const HostState& before, const HostState& after) {
  NetJudgement judgement;
  if (!before.throttling || !after.throttling ||
      before.throttling->from.source != after.throttling->from.source)
    return judgement;
  const auto& first = before.throttling->value;
  const auto& last = after.throttling->value;
  if (last.periods <= first.periods || last.throttled < first.throttled) return judgement;
  const std::uint64_t periods = last.periods - first.periods;
  const std::uint64_t throttled = last.throttled - first.throttled;
  const double part = static_cast<double>(throttled) / static_cast<double>(periods);
  const bool is_much = part > limit_of("throttled_part");
  judgement.checks.push_back(
      {"the cgroup was not throttled meanwhile", is_much ? "wrong" : "fine"});
  if (!is_much) return judgement;
  Finding finding = core::make_finding(
      "topo.cpu-throttled",
      fmt::format("the cgroup was stopped in {} of {} periods meanwhile ({}), {} of all its CPUs "
                  "together: ranks and proxy threads stand still there",
                  throttled, periods, core::format_percent(part),
                  core::format_duration(last.stood_still - first.stood_still)));
  finding.observed = Figure{part * 100, "%", Basis::kRead, after.throttling->from.source};
  finding.evidence = {after.throttling->from};
  finding.confidence = Confidence::kCertain;
  finding.next = {"cat " + after.throttling->from.source};
  judgement.findings.push_back(std::move(finding));
  return judgement;
}

}  // namespace comm_probe::diagnose
