#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/finding_table.h"
#include "diagnose/log_problem_text.h"
#include "diagnose/log_rdma_rules.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using nccl::LogFamily;
using nccl::LogProblem;
using nccl::LogRole;

// A completion that was flushed because the queue had failed before.
bool is_flush(const LogProblem& problem) {
  return problem.family == LogFamily::kIbCompletion && field(problem, "status") == "5";
}

bool is_cause(const LogProblem& problem) {
  return problem.role == LogRole::kCause && !is_flush(problem);
}
bool is_follow_up(const LogProblem& problem) {
  return problem.role == LogRole::kFollowUp || is_flush(problem);
}

// By time where both have one, else by where they stand.
bool is_earlier(const LogProblem* a, const LogProblem* b) {
  if (a->time && b->time && *a->time != *b->time) return *a->time < *b->time;
  return std::pair(a->first.file, a->first.line) < std::pair(b->first.file, b->first.line);
}

// What the processes run that print it, else the first version of the log.
std::optional<topology::NcclVersion> version_of(const DebugLog& log, const LogProblem& problem) {
  for (const int process : problem.processes)
    if (const int version = log.processes[static_cast<std::size_t>(process)].version; version >= 0)
      return nccl::version_of_text(log.versions[static_cast<std::size_t>(version)].text);
  return log.version();
}

// "4 and 6 on bus id 31000" -> ranks 4, 6
void add_pair(std::string_view pair, std::vector<int>& ranks) {
  for (const std::size_t at : {std::size_t{0}, pair.find(" and ") + 5}) {
    int rank = 0;
    std::from_chars(pair.data() + at, pair.data() + pair.size(), rank);
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
}

Finding duplicate_gpu(const DebugLog& log, const LogProblem& problem) {
  std::string pairs;
  std::vector<int> ranks;
  std::size_t shown = 0;
  for (const auto& [pair, count] : problem.named) {
    if (ranks.size() < 64) add_pair(pair, ranks);
    if (shown++ < 4) pairs += fmt::format("{}ranks {}", pairs.empty() ? "" : "; ", pair);
  }
  std::sort(ranks.begin(), ranks.end());
  Finding finding =
      log_finding(log, "log.duplicate-gpu",
                  fmt::format("two ranks share a GPU: {}{}", pairs,
                              shown > 4 ? fmt::format(" and {} more pairs", shown - 4) : ""),
                  problem.first);
  finding.ranks = std::move(ranks);
  finding.confidence = Confidence::kCertain;
  finding.next = {"print rank, local rank and CUDA_VISIBLE_DEVICES in each process"};
  return finding;
}

Finding shm(const DebugLog& log, const LogProblem& problem) {
  const LogProblem* full = log.problem(LogFamily::kShmFull);
  const bool attaches = problem.first.text.find("attaching") != std::string::npos;
  const std::string size = field(problem, "size");
  if (full == nullptr && attaches)
    return log_finding(log, "log.shm-not-shared",
                       "a shared memory segment of another rank cannot be opened: the containers "
                       "do not share /dev/shm",
                       problem.first);
  Finding finding = log_finding(
      log, "log.shm-full",
      fmt::format(
          "/dev/shm is too small{}{}", whereabouts(log, problem),
          size.empty() ? "" : fmt::format(": a segment of {} bytes could not be made", size)),
      problem.first);
  finding.confidence = full == nullptr ? Confidence::kLikely : Confidence::kCertain;
  finding.next = {"df -h /dev/shm", "docker run --shm-size=8g ... or --ipc=host"};
  return finding;
}

Finding connect_failed(const DebugLog& log, const LogProblem& problem) {
  Finding finding =
      log_finding(log, "log.connect-failed",
                  fmt::format("a rank{} cannot connect{}{}", whereabouts(log, problem),
                              tally(problem, "address", "addresses").empty() ? "" : " to ",
                              tally(problem, "address", "addresses")),
                  problem.first);
  finding.confidence = Confidence::kLikely;
  finding.next = {"ip -br addr; ip route get ADDRESS",
                  "NCCL_SOCKET_IFNAME=INTERFACE that all hosts share"};
  return finding;
}

// What a family says where no more is to be read from the line.
struct PlainRule {
  LogFamily family;
  const char* id;
  const char* summary;
  bool is_of_job = false;  // the host of the line only says it
};
constexpr PlainRule kPlain[] = {
    {LogFamily::kIbAsyncFatal, "log.ib-device-fault", "a NIC reports a fatal event"},
    {LogFamily::kOpenDevice, "log.rdma-devices-missing",
     "RDMA devices are listed but cannot be opened"},
    {LogFamily::kIncompatibleNics, "log.nics-incompatible",
     "an InfiniBand port was to talk to a RoCE port", true},
    {LogFamily::kMessageTruncated, "log.ranks-disagree",
     "the ranks disagree about the size of a message", true},
    {LogFamily::kDuplicateRank, "log.duplicate-rank",
     "two processes claim one rank, or disagree about the number of ranks", true},
    {LogFamily::kNoInterface, "log.no-interface", "NCCL finds no usable network interface"},
    {LogFamily::kAddressFamily, "log.bad-address",
     "a rank received an address that is none; possible: mixed NCCL versions or plugins, or a "
     "stray "
     "connection; compare the version lines of all ranks"},
    {LogFamily::kStrayConnection, "log.stray-connection",
     "something that is no rank of this job connected"},
    {LogFamily::kCudaMemory, "log.gpu-memory", "a GPU is out of memory"},
    {LogFamily::kCudaArch, "log.gpu-architecture",
     "this build of NCCL has no code for the GPU's architecture"},
    {LogFamily::kCudaNvls, "log.nvls-failed",
     "the driver refuses NVLink SHARP (NVLS): most often the fabric manager was restarted without "
     "a "
     "GPU reset, or does not run"},
    {LogFamily::kFabricManager, "log.fabric-manager",
     "CUDA is not ready for NVLink (802): the fabric manager does not run or has not finished"},
    {LogFamily::kNvlsBind, "log.nvls-failed", "NVLink SHARP memory cannot be bound"},
    {LogFamily::kImex, "log.imex", "the NVLink domain of several hosts does not work (IMEX)"},
    {LogFamily::kCudaError, "log.cuda-error", "a CUDA call failed"},
    {LogFamily::kNvlinkP2pOff, "log.nvlink-p2p-off", "two NVLink GPUs may not use P2P"},
    {LogFamily::kNoAlgorithm, "log.no-algorithm",
     "no algorithm or protocol is left for a collective", true},
    {LogFamily::kUnknownMethod, "log.no-algorithm",
     "NCCL_ALGO or NCCL_PROTO holds a word that NCCL does not know", true},
    {LogFamily::kRingBroken, "log.ring-broken", "the ranks do not agree about the rings", true},
    {LogFamily::kNoTransport, "log.no-transport", "two ranks have nothing to talk over", true},
    {LogFamily::kNoNicPath, "log.no-nic-path", "a GPU reaches no NIC"},
    {LogFamily::kTopologyFile, "log.topology-file", "the topology file cannot be read"},
    {LogFamily::kSelfSend, "log.self-send", "a rank sends to itself without receiving"},
    {LogFamily::kInvalidUsage, "log.invalid-usage", "NCCL refuses a call"},
};

// " (AllGather; NCCL_ALGO=NVLS)" of a refused collective
std::string method_text(const DebugLog& log, const LogProblem& problem) {
  if (problem.family != LogFamily::kNoAlgorithm) return "";
  std::vector<std::string> parts = {field(problem, "function")};
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"})
    if (const nccl::LogSetting* setting = log.setting(name))
      parts.push_back(fmt::format("{}={}", name, setting->value));
  const std::string text = joined(std::move(parts), "; ");
  return text.empty() ? "" : fmt::format(" ({})", text);
}

Finding plain(const DebugLog& log, const LogProblem& problem) {
  for (const PlainRule& rule : kPlain)
    if (rule.family == problem.family) {
      const std::string where = whereabouts(log, problem);
      Finding finding =
          log_finding(log, rule.id,
                      fmt::format("{}{}{}{}{}{}", rule.summary, method_text(log, problem),
                                  rule.is_of_job && !where.empty() ? ", said" : "", where,
                                  problem.named.empty() ? "" : ": ", tally(problem, "hca", "HCAs")),
                      problem.first);
      finding.confidence = Confidence::kLikely;
      return finding;
    }
  Finding finding = log_finding(
      log, "log.unknown-warning",
      fmt::format("NCCL warns{}: the first such line is below", whereabouts(log, problem)),
      problem.first);
  finding.confidence = Confidence::kPossible;
  return finding;
}

// A limit of consumer Blackwell that NCCL 2.26 respects; only where a kernel then failed.
constexpr topology::NcclVersion kSharedMemoryFixed = {2, 26, 0};

Finding shared_memory_limit(const DebugLog& log, const LogProblem& problem) {
  const auto version = version_of(log, problem);
  const bool is_newer = version && *version >= kSharedMemoryFixed;  // a fix it has is no advice
  const std::string bug =
      is_newer ? fmt::format("; NCCL {}.{}.{} should leave those kernels out (a fix of 2.26)",
                             version->major, version->minor, version->patch)
               : std::string(": a bug that NCCL 2.26 fixed");
  Finding finding = log_finding(
      log, "log.shared-memory-limit",
      "NCCL's kernels need more shared memory than this GPU has, and their launch fails" + bug,
      problem.first);
  if (const LogProblem* failure = log.problem(LogFamily::kCudaError))
    finding.evidence.push_back(log_evidence(log, failure->first));
  finding.confidence = is_newer ? Confidence::kPossible : Confidence::kLikely;
  finding.next = {is_newer ? "NCCL_PROTO=Simple for one run; report the log to NCCL where it helps"
                           : "update NCCL to 2.26 or later"};
  return finding;
}

// 22809 -> "2.28.9"
std::string version_text(const std::string& number) {
  const int version = std::atoi(number.c_str());
  return version < 10000
             ? number
             : fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Finding version_mismatch(const DebugLog& log, const LogProblem& problem) {
  std::vector<int> ranks;
  for (const char* side : {"1", "2"})
    if (!field(problem, side).empty()) ranks.push_back(std::atoi(field(problem, side).c_str()));
  Finding finding = log_finding(
      log, "log.version-mismatch",
      ranks.size() < 2 ? "the ranks load different NCCL versions"
                       : fmt::format("rank {} loads NCCL {}, rank {} loads {}", ranks[0],
                                     version_text(field(problem, "version 1")), ranks[1],
                                     version_text(field(problem, "version 2"))),
      problem.first);
  finding.ranks = std::move(ranks);
  finding.confidence = Confidence::kCertain;
  return finding;
}

struct CauseRule {
  LogFamily family;
  Finding (*judge)(const DebugLog& log, const LogProblem& problem);
};
constexpr CauseRule kCauseRules[] = {
    {LogFamily::kIbCompletion, judge_completion},
    {LogFamily::kModifyQp, judge_connection},
    {LogFamily::kRegisterMemory, judge_registration},
    {LogFamily::kDuplicateGpu, duplicate_gpu},
    {LogFamily::kIbAsyncEvent, judge_port_event},
    {LogFamily::kVersionMismatch, version_mismatch},
    {LogFamily::kCreateQueue, judge_queue},
    {LogFamily::kShmFull, shm},
    {LogFamily::kShmFailed, shm},
    {LogFamily::kConnectFailed, connect_failed},
    {LogFamily::kMaxSharedMemory, shared_memory_limit},
};

Finding judge_cause(const DebugLog& log, const LogProblem& problem) {
  for (const CauseRule& rule : kCauseRules)
    if (rule.family == problem.family) return rule.judge(log, problem);
  return plain(log, problem);
}

// Nothing but follow-ups: the cause is elsewhere.
void judge_follow_ups(const DebugLog& log, const std::vector<const LogProblem*>& follow_ups,
                      Judgement& judgement) {
  const LogProblem& first = *follow_ups.front();
  std::vector<std::string> peers;
  for (const LogProblem* problem : follow_ups)
    for (const auto& [name, count] : problem->named)
      if (name.starts_with("peer ") && peers.size() < 3) peers.push_back(name.substr(5));
  Finding finding = log_finding(
      log, "log.only-follow-ups",
      fmt::format("the log shows only that something failed elsewhere first{}: no line names a "
                  "cause",
                  peers.empty() ? "" : fmt::format(" (peers named: {})", fmt::join(peers, ", "))),
      first.first);
  const std::vector<int> silent = silent_ranks(log);
  finding.confidence = silent.empty() ? Confidence::kCertain : Confidence::kLikely;
  if (!silent.empty()) {
    finding.summary +=
        fmt::format("; rank {} ended without an error: look there first", fmt::join(silent, ", "));
    finding.ranks = silent;
  }
  finding.next = {"exit code and kernel log of the process that ended first",
                  "NCCL_DEBUG=INFO on all ranks"};
  judgement.findings.push_back(std::move(finding));
  judgement.findings.push_back(log_possible(
      log, "log.possible-peer-death",
      "a process or host died first; proof: its exit code, kernel log and the end of its own log"));
  judgement.findings.back().next = {"dmesg -T | grep -i -e oom -e xid"};
  if (!uses_rdma(log)) return;
  judgement.findings.push_back(log_possible(
      log, "log.possible-acs",
      "PCIe ACS may break GPUDirect RDMA without a word of NCCL; proof: ReqRedir+ on a "
      "bridge above "
      "GPU or NIC, and the job runs with NCCL_NET_GDR_LEVEL=LOC"));
  judgement.findings.back().next = {"sudo comm-probe topo check"};
}

// One finding for several families that tell the same.
bool is_told_already(const DebugLog& log, const LogProblem& problem, const Judgement& judgement) {
  if (problem.family == LogFamily::kShmFull || problem.family == LogFamily::kShmFailed)
    return judgement.has("log.shm-full") || judgement.has("log.shm-not-shared");
  const bool is_limit = log.problem(LogFamily::kMaxSharedMemory) != nullptr;
  const bool has_cuda_error = log.problem(LogFamily::kCudaError) != nullptr;
  if (problem.family == LogFamily::kMaxSharedMemory) return !has_cuda_error;
  return problem.family == LogFamily::kCudaError && is_limit;
}

}  // namespace

Judgement judge_log_problems(const DebugLog& log) {
  std::vector<const LogProblem*> causes;
  std::vector<const LogProblem*> follow_ups;
  for (const LogProblem& problem : log.problems) {
    if (is_cause(problem)) causes.push_back(&problem);
    if (is_follow_up(problem)) follow_ups.push_back(&problem);
  }
  std::stable_sort(causes.begin(), causes.end(), is_earlier);
  std::stable_sort(follow_ups.begin(), follow_ups.end(), is_earlier);
  Judgement judgement;
  Judgement possible_causes;
  for (const LogProblem* problem : causes) {
    if (is_told_already(log, *problem, judgement)) continue;
    Finding finding = judge_cause(log, *problem);
    // one finding of an id: the earliest
    if (judgement.has(finding.id) && finding.id != "log.unknown-warning") continue;
    if (finding.ranks.empty()) finding.ranks = ranks_of(log, problem->processes);
    judgement.findings.push_back(std::move(finding));
    add_possible_causes(log, *problem, possible_causes);
  }
  if (!causes.empty() && !follow_ups.empty() && !judgement.findings.empty()) {
    std::uint64_t lines = 0;
    for (const LogProblem* problem : follow_ups) lines += problem->count;
    judgement.findings.front().summary += fmt::format(
        "; {} {}line{} of follow-ups", lines,
        is_earlier(causes.front(), follow_ups.front()) ? "later " : "", lines == 1 ? "" : "s");
  }
  // an unknown warning behind the first follow-up explains nothing
  const bool explains_nothing =
      std::all_of(causes.begin(), causes.end(), [&](const LogProblem* cause) {
        return cause->family == LogFamily::kOther && !follow_ups.empty() &&
               !is_earlier(cause, follow_ups.front());
      });
  if (explains_nothing && !follow_ups.empty()) {
    Judgement unknown = std::move(judgement);
    judgement = {};
    judge_follow_ups(log, follow_ups, judgement);
    judgement.add(std::move(unknown));
  }
  judgement.add(std::move(possible_causes));
  const bool has_warned =
      std::any_of(log.processes.begin(), log.processes.end(),
                  [](const nccl::LogProcess& process) { return process.warnings > 0; });
  if (judgement.findings.empty() && !log.code_lines.empty() && !has_warned) {
    judgement.findings.push_back(
        log_finding(log, "log.failed",
                    fmt::format("NCCL returned code {}, but no warning says why",
                                log.code_lines.begin()->first),
                    {}));
    judgement.findings.back().next = {"NCCL_DEBUG=WARN (or INFO) on all ranks"};
  }
  return judgement;
}

}  // namespace comm_probe::diagnose
