#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using nccl::LogFamily;
using nccl::LogProblem;
using nccl::LogRole;

std::string field(const LogProblem& problem, const char* name) {
  const auto found = problem.fields.find(name);
  return found == problem.fields.end() ? "" : found->second;
}

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

// "hca mlx5_3 in all 14 lines", "2 HCAs, most often mlx5_3 (9 of 14)"; empty where none is named.
std::string tally(const LogProblem& problem, const std::string& kind, const char* plural) {
  std::string most;
  std::uint64_t count = 0, least = problem.count;
  std::size_t different = 0;
  for (const auto& [name, times] : problem.named) {
    if (!name.starts_with(kind + " ")) continue;
    ++different;
    least = std::min(least, times);
    if (times > count) {
      count = times;
      most = name.substr(kind.size() + 1);
    }
  }
  if (different == 0) return "";
  if (different == 1)
    return problem.count == 1 ? fmt::format("{} {}", kind, most)
                              : fmt::format("{} {} in all {} lines", kind, most, count);
  if (least == count)  // none stands out
    return fmt::format("{} {}, each in {} line{}", different, plural, count, count == 1 ? "" : "s");
  return fmt::format("{} {}, most often {} ({} of {} lines)", different, plural, most, count,
                     problem.count);
}

std::string joined(std::vector<std::string> parts, const char* between = ", ") {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, between));
}

// " on node03", " on 3 processes of node03 and node04"; empty where the lines name no host
std::string whereabouts(const DebugLog& log, const LogProblem& problem) {
  std::vector<int> hosts;
  for (const int process : problem.processes) {
    const int host = log.processes[static_cast<std::size_t>(process)].host;
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  std::erase_if(hosts, [&](int host) { return log.hosts[static_cast<std::size_t>(host)].empty(); });
  if (hosts.empty()) return "";
  const std::string names = hosts_text(log, hosts);
  if (problem.process_count <= 1) return " on " + names;
  return fmt::format(" on {} processes of {}", problem.process_count, names);
}

// What the processes run that print it, else the first version of the log.
std::optional<topology::NcclVersion> version_of(const DebugLog& log, const LogProblem& problem) {
  for (const int process : problem.processes)
    if (const int version = log.processes[static_cast<std::size_t>(process)].version; version >= 0)
      return nccl::version_of_text(log.versions[static_cast<std::size_t>(version)].text);
  return log.version();
}

struct Completion {
  const char* status;
  const char* id;
  const char* says;
};
// Meaning of the numbers: shared spec nccl-7-log, 7.7 and rdma, 3 (verbs' ibv_wc_status).
constexpr Completion kCompletions[] = {
    {"1", "log.ranks-disagree", "a message was longer than its receive buffer (status 1)"},
    {"4", "log.ib-local-protection", "the NIC may not access its own memory (status 4"},
    {"9", "log.ib-remote-operation", "the peer's NIC rejected the request (status 9)"},
    {"10", "log.ib-remote-access", "the peer's NIC refused the memory key (status 10)"},
    {"11", "log.ib-remote-operation", "the peer's NIC could not execute the operation (status 11)"},
    {"12", "log.ib-no-answer", "no acknowledgement from the peer's NIC (status 12)"},
    {"13", "log.ib-receiver-not-ready", "the peer posted no receive (status 13)"},
    {"19", "log.ib-device-fault", "the NIC reports a fatal fault (status 19)"},
};

bool is_roce(const DebugLog& log) {
  return std::any_of(log.nic_lists.begin(), log.nic_lists.end(), [](const auto& list) {
    return !list.nics.empty() && list.nics.front().link == "RoCE";
  });
}

// The first three numbers of an IPv4-mapped GID: masks are seldom shorter on a fabric.
std::string_view network_of(std::string_view gid) {
  return gid.starts_with("::ffff:") ? gid.substr(0, gid.rfind('.')) : std::string_view();
}

// What two GIDs prove by themselves; empty where nothing.
std::string gid_remark(const std::string& local, const std::string& remote) {
  if (local.starts_with("fe80") != remote.starts_with("fe80") && !local.empty() && !remote.empty())
    return " (one is link-local)";
  if (network_of(local) != network_of(remote) && !network_of(local).empty() &&
      !network_of(remote).empty())
    return " (different subnets)";
  return "";
}

Finding completion(const DebugLog& log, const LogProblem& problem) {
  const std::string status = field(problem, "status");
  const char* id = "log.ib-error";
  std::string says = fmt::format("an RDMA operation failed with status {}", status);
  for (const Completion& row : kCompletions)
    if (status == row.status) {
      id = row.id;
      says = row.says;
    }
  if (status == "4")
    says += field(problem, "vendor").empty()
                ? ")"
                : fmt::format(", vendor {})", field(problem, "vendor"));
  const std::string who = joined(
      {tally(problem, "hca", "HCAs"), tally(problem, "peer", "peers"),
       field(problem, "local").size() < 8
           ? ""
           : fmt::format("GIDs {} -> {}{}", field(problem, "local"), field(problem, "remote"),
                         gid_remark(field(problem, "local"), field(problem, "remote"))),
       field(problem, "local").starts_with("fe80") && is_roce(log) ? "link-local on RoCE" : ""});
  Finding finding = log_finding(
      log, id,
      fmt::format("{}{}{}{}", says, whereabouts(log, problem), who.empty() ? "" : ": ", who),
      problem.first);
  finding.confidence = Confidence::kCertain;
  return finding;
}

Finding possible(const DebugLog& log, const char* id, const char* because) {
  Finding finding = log_finding(log, id, because, {});
  finding.confidence = Confidence::kPossible;
  return finding;
}

void add_possible_causes(const DebugLog& log, const LogProblem& problem, Judgement& judgement) {
  const auto add = [&](const char* id, const char* text, std::vector<std::string> next) {
    if (judgement.has(id)) return;
    judgement.findings.push_back(possible(log, id, text));
    judgement.findings.back().next = std::move(next);
  };
  const std::string status = field(problem, "status");
  if (status == "4" || status == "10" || status == "11")
    add("log.possible-acs",
        "PCIe ACS or an IOMMU may break GPUDirect RDMA; proof: ReqRedir+ on a bridge above GPU or "
        "NIC, and the error is gone with NCCL_NET_GDR_LEVEL=LOC",
        {"sudo comm-probe topo check", "sudo lspci -vvv | grep -e ^[0-9a-f] -e ACSCtl"});
  if (status == "12") {
    const bool is_infiniband =
        std::any_of(log.nic_lists.begin(), log.nic_lists.end(), [](const nccl::LogNicList& list) {
          return !list.nics.empty() && list.nics.front().link == "IB";
        });
    if (!is_infiniband)
      add("log.possible-gid",
          "on RoCE a GID that the peer cannot reach gives this; proof: the GID of the index in use "
          "is link-local, RoCE v1 or of another subnet",
          {"show_gids", "ib_write_bw -x GID_INDEX between exactly this pair"});
    add("log.possible-link",
        "a port, cable or switch; proof: link_downed or symbol_error of a port",
        {"comm-probe topo check", "ibstat", "dmesg -T"});
  }
  if (status == "12" || status == "13" || status == "10")
    add("log.possible-peer-death",
        "the process or host at the other end may have died; proof: its exit code, kernel log and "
        "the end of its own log",
        {"dmesg -T | grep -i -e oom -e xid   (on the peer)"});
}

// "GID indices 0 and 1 are link-local; the routable RoCE v2 address is index 3 (...)"; empty where
// the table says nothing.
std::string gid_advice(const DebugLog& log, const nccl::LogGid*& routable) {
  std::string local;
  int locals = 0;
  for (const nccl::LogGid& gid : log.gids) {
    if (gid.address.starts_with("fe80"))
      local += fmt::format("{}{}", locals++ == 0 ? "" : " and ", gid.index);
    if (routable == nullptr && gid.type.find("v2") != std::string::npos &&
        !gid.address.starts_with("fe80"))
      routable = &gid;
  }
  if (local.empty() || routable == nullptr) return "";
  return fmt::format(
      "GID {} link-local; the routable RoCE v2 address is index {} ({})",
      locals == 1 ? fmt::format("index {} is", local) : fmt::format("indices {} are", local),
      routable->index, routable->address);
}

// "mlx5_2:1 GID index 3, ::ffff:10.1.0.1 -> ::ffff:10.2.0.1 (different subnets)"
std::string pair_text(const LogProblem& problem) {
  const std::string local = field(problem, "local");
  const std::string remote = field(problem, "remote");
  const std::string index = field(problem, "index");
  std::string text = field(problem, "device");
  if (!index.empty()) text += fmt::format("{}GID index {}", text.empty() ? "" : " ", index);
  if (local == "::")
    return text + fmt::format(" is not valid: its local GID is empty{}",
                              remote.empty() ? "" : fmt::format(" (peer {})", remote));
  if (!local.empty() && !remote.empty())
    text += fmt::format("{}{} -> {}", text.empty() ? "GIDs " : ", ", local, remote);
  return text + gid_remark(local, remote);
}

Finding modify_qp(const DebugLog& log, const LogProblem& problem) {
  const nccl::LogGid* routable = nullptr;
  const std::string advice = gid_advice(log, routable);
  const std::string gids = pair_text(problem);
  Finding finding = log_finding(
      log, "log.rdma-connect",
      joined(
          {fmt::format("a connection of two NICs failed ({})",
                       field(problem, "error").empty() ? "ibv_modify_qp" : field(problem, "error")),
           gids, advice},
          ": "),
      problem.first);
  finding.confidence = Confidence::kLikely;
  if (routable != nullptr && !advice.empty()) {
    finding.evidence.push_back(log_evidence(log, log.gids.front().at));
    finding.evidence.push_back(log_evidence(log, routable->at));
    finding.next = {fmt::format("NCCL_IB_GID_INDEX={} on all hosts", routable->index)};
  } else {
    finding.next = {"show_gids on both hosts",
                    "ping -I INTERFACE PEER_ADDRESS of this pair of NICs"};
  }
  return finding;
}

Finding register_memory(const DebugLog& log, const LogProblem& problem) {
  const bool is_limit = field(problem, "error").find("allocate") != std::string::npos;
  return log_finding(log, is_limit ? "log.locked-memory" : "log.gpu-memory-not-registered",
                     fmt::format("memory cannot be registered with the NIC{} ({})",
                                 whereabouts(log, problem), field(problem, "error")),
                     problem.first);
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

// "Cannot allocate memory" of a queue is the limit of locked memory (shared spec users-nccl, 15).
Finding create_queue(const DebugLog& log, const LogProblem& problem) {
  const std::string error = field(problem, "error");
  const bool is_limit = error.find("allocate") != std::string::npos;
  Finding finding =
      log_finding(log, is_limit ? "log.locked-memory" : "log.rdma-resources",
                  fmt::format("a NIC refuses to create a queue{}{}", whereabouts(log, problem),
                              error.empty() ? "" : fmt::format(" ({})", error)),
                  problem.first);
  finding.confidence = Confidence::kLikely;
  return finding;
}

Finding async_event(const DebugLog& log, const LogProblem& problem) {
  Finding finding = log_finding(
      log, "log.link-flap",
      fmt::format("a NIC's port changed while the job ran{}: {}", whereabouts(log, problem),
                  joined({field(problem, "event"), tally(problem, "port", "ports")})),
      problem.first);
  finding.confidence = Confidence::kLikely;
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
    {LogFamily::kIbCompletion, completion},
    {LogFamily::kModifyQp, modify_qp},
    {LogFamily::kRegisterMemory, register_memory},
    {LogFamily::kDuplicateGpu, duplicate_gpu},
    {LogFamily::kIbAsyncEvent, async_event},
    {LogFamily::kVersionMismatch, version_mismatch},
    {LogFamily::kCreateQueue, create_queue},
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
  judgement.findings.push_back(possible(
      log, "log.possible-peer-death",
      "a process or host died first; proof: its exit code, kernel log and the end of its own log"));
  judgement.findings.back().next = {"dmesg -T | grep -i -e oom -e xid"};
  if (!uses_rdma(log)) return;
  judgement.findings.push_back(
      possible(log, "log.possible-acs",
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
