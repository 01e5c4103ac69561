#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using nccl::LogComm;
using nccl::LogPhase;
using nccl::LogRank;

// Settings that all ranks must share (shared spec users-nccl, 20).
constexpr std::array<std::string_view, 9> kEqualSettings = {
    "NCCL_ALGO",          "NCCL_PROTO",          "NCCL_BUFFSIZE",
    "NCCL_MIN_NCHANNELS", "NCCL_NTHREADS",       "NCCL_MAX_NCHANNELS",
    "NCCL_LL_BUFFSIZE",   "NCCL_LL128_BUFFSIZE", "NCCL_NCHANNELS_PER_NET_PEER"};

struct CommRanks {
  std::vector<const LogRank*> ranks = {};
  LogPhase least = LogPhase::kEnded;
  LogPhase most = LogPhase::kStart;
};

std::vector<CommRanks> ranks_by_comm(const DebugLog& log) {
  std::vector<CommRanks> all(log.comms.size());
  for (const LogRank& rank : log.ranks) {
    CommRanks& of = all[static_cast<std::size_t>(rank.comm)];
    of.ranks.push_back(&rank);
    of.least = std::min(of.least, rank.phase);
    of.most = std::max(of.most, rank.phase);
  }
  return all;
}

// "0-5, 7": at most a few.
std::string missing_text(const std::vector<int>& missing) {
  std::string text;
  for (std::size_t i = 0; i < missing.size() && i < 8; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", missing[i]);
  return missing.size() > 8 ? text + fmt::format(" and {} more", missing.size() - 8) : text;
}

// Nobody is blamed who waits at the same line as everybody.
Finding init_incomplete(const DebugLog& log, const LogComm& comm, const CommRanks& of) {
  std::vector<int> last;
  const LogRank* first = nullptr;
  for (const LogRank* rank : of.ranks) {
    if (rank->phase != of.least) continue;
    if (first == nullptr) first = rank;
    if (last.size() < 64) last.push_back(rank->rank);
  }
  std::sort(last.begin(), last.end());
  const bool is_same = of.least == of.most;
  std::string text =
      is_same ? fmt::format(
                    "none of the {} ranks ended its initialisation: each {}, and no line "
                    "says more",
                    comm.size, log_phase_text(of.least))
              : fmt::format("none of the {} ranks ended its initialisation: rank {} {}, others {}",
                            comm.size, missing_text(last), log_phase_text(of.least),
                            log_phase_text(of.most));
  Finding finding = log_finding(log, "log.init-incomplete", "", first->first);
  finding.next = {is_same ? "py-spy dump --pid PID   (of two ranks)"
                          : "py-spy dump --pid PID   (of that rank)"};
  const nccl::LogProblem* refused = log.problem(nccl::LogFamily::kConnectFailed);
  if (refused != nullptr) {  // "retrying (3/34)": no warning yet
    for (const auto& [name, count] : refused->named)
      if (name.starts_with("address "))
        text += fmt::format("; {} refuses to be connected", name.substr(8));
    finding.evidence.insert(finding.evidence.begin(), log_evidence(log, refused->first));
    finding.next.insert(finding.next.begin(), "ip route get ADDRESS; NCCL_SOCKET_IFNAME=INTERFACE");
  }
  finding.summary = std::move(text);
  finding.ranks = std::move(last);
  finding.confidence = Confidence::kPossible;
  return finding;
}

void judge_init(const DebugLog& log, const LogComm& comm, const CommRanks& of,
                Judgement& judgement) {
  // calls or connections of any rank say that the initialisation ended, lost lines or not
  if (comm.size < 2 || of.ranks.empty() || of.most >= LogPhase::kChannels || !comm.edges.empty())
    return;
  std::set<int> seen;
  for (const LogRank* rank : of.ranks) seen.insert(rank->rank);
  std::vector<int> missing;
  for (int rank = 0; rank < comm.size && missing.size() < 1000; ++rank)
    if (seen.count(rank) == 0) missing.push_back(rank);
  const bool most_are_here = 4 * seen.size() >= 3 * static_cast<std::size_t>(comm.size);
  if (!missing.empty() && comm.size >= 4 && most_are_here && !judgement.has("log.rank-missing")) {
    Finding finding =
        log_finding(log, "log.rank-missing",
                    fmt::format("{} of {} ranks wait in the initialisation; rank {} never appeared",
                                seen.size(), comm.size, missing_text(missing)),
                    of.ranks.front()->first);
    finding.ranks = missing;
    finding.confidence = Confidence::kLikely;
    finding.next = {"output and exit code of these ranks"};
    judgement.findings.push_back(std::move(finding));
  } else if (missing.empty() && !judgement.has("log.init-incomplete")) {
    judgement.findings.push_back(init_incomplete(log, comm, of));
  }
}

// Some ranks say that they are done, others only that they began.
void judge_late(const DebugLog& log, const LogComm& comm, const CommRanks& of,
                Judgement& judgement) {
  if (of.most < LogPhase::kComplete || static_cast<int>(of.ranks.size()) != comm.size ||
      judgement.has("log.init-incomplete"))
    return;
  std::vector<int> late;
  const LogRank* first = nullptr;
  for (const LogRank* rank : of.ranks) {
    if (rank->phase >= LogPhase::kComplete) continue;
    late.push_back(rank->rank);
    if (first == nullptr) first = rank;
  }
  if (late.empty() || 2 * late.size() > of.ranks.size()) return;
  Finding finding = log_finding(
      log, "log.init-incomplete",
      fmt::format("rank {} {} and did not end the initialisation; {} other ranks did",
                  missing_text(late), log_phase_text(first->phase), of.ranks.size() - late.size()),
      first->first);
  finding.ranks = std::move(late);
  finding.confidence = Confidence::kPossible;
  finding.next = {"the end of the log of these ranks; py-spy dump --pid PID there"};
  judgement.findings.push_back(std::move(finding));
}

// Two ranks of one communicator on one GPU of a host: NCCL never ends such an initialisation.
void judge_shared_gpu(const DebugLog& log, const LogComm& comm, const CommRanks& of,
                      Judgement& judgement) {
  if (of.most >= LogPhase::kComplete || judgement.has("log.duplicate-gpu")) return;
  std::map<std::pair<int, std::uint64_t>, const LogRank*> owners;
  for (const LogRank* rank : of.ranks) {
    const int host = log.processes[static_cast<std::size_t>(rank->process)].host;
    if (rank->bus_id == 0 || log.hosts[static_cast<std::size_t>(host)].empty()) continue;
    const auto [found, is_new] = owners.emplace(std::pair(host, rank->bus_id), rank);
    if (is_new || found->second->rank == rank->rank) continue;
    Finding finding = log_finding(log, "log.duplicate-gpu",
                                  fmt::format("ranks {} and {} of {} share one GPU (bus id {:x})",
                                              std::min(found->second->rank, rank->rank),
                                              std::max(found->second->rank, rank->rank),
                                              hosts_text(log, {host}), rank->bus_id),
                                  rank->first);
    finding.evidence.push_back(log_evidence(log, found->second->first));
    finding.ranks = {found->second->rank, rank->rank};
    finding.confidence = comm.nodes > 1 ? Confidence::kPossible : Confidence::kLikely;
    finding.next = {"print rank, local rank and CUDA_VISIBLE_DEVICES in each process"};
    judgement.findings.push_back(std::move(finding));
    return;
  }
}

void judge_split(const DebugLog& log, const LogComm& comm, const CommRanks& of,
                 Judgement& judgement) {
  if (comm.nodes < 2 || static_cast<int>(of.ranks.size()) != comm.size ||
      log.setting("NCCL_HOSTID") != nullptr || judgement.has("log.node-split"))
    return;
  std::set<int> hosts;
  for (const LogRank* rank : of.ranks)
    hosts.insert(log.processes[static_cast<std::size_t>(rank->process)].host);
  if (static_cast<int>(hosts.size()) >= comm.nodes) return;
  Finding finding = log_finding(
      log, "log.node-split",
      fmt::format("NCCL counts {} nodes on {} host{}: GPUs of one host talk over the network",
                  comm.nodes, hosts.size(), hosts.size() == 1 ? "" : "s"),
      comm.first);
  finding.confidence = Confidence::kLikely;
  judgement.findings.push_back(std::move(finding));
}

// Both sides by name; only a minority is blamed.
void say_who(const LogComm& comm, const CommRanks& of, const nccl::LogDisagreement& first,
             Finding& finding) {
  std::map<std::string, std::vector<int>> sides;
  std::set<int> told;
  for (const nccl::LogDisagreement& differs : comm.disagreements) {
    if (differs.call != first.call || differs.what != first.what) continue;
    sides[differs.said].push_back(differs.rank);
    told.insert(differs.rank);
  }
  for (const LogRank* rank : of.ranks)
    if (told.count(rank->rank) == 0 && rank->last_call && *rank->last_call >= first.call)
      sides[first.others].push_back(rank->rank);
  std::string text;
  const std::vector<int>* least = nullptr;
  bool is_tie = false;
  for (auto& [said, ranks] : sides) {
    std::sort(ranks.begin(), ranks.end());
    text += fmt::format("{}{} on rank{} {}", text.empty() ? "" : ", ", said,
                        ranks.size() == 1 ? "" : "s", missing_text(ranks));
    if (least == nullptr || ranks.size() < least->size()) {
      least = &ranks;
      is_tie = false;
    } else if (ranks.size() == least->size()) {
      is_tie = true;
    }
  }
  finding.summary = fmt::format("at call {} the {} differs: {}", first.call, first.what, text);
  if (least != nullptr && !is_tie) finding.ranks = *least;
}

void judge_disagreements(const DebugLog& log, const LogComm& comm, const CommRanks& of,
                         Judgement& judgement) {
  if (comm.disagreements.empty() || judgement.has("log.ranks-disagree")) return;
  const auto first = std::min_element(comm.disagreements.begin(), comm.disagreements.end(),
                                      [](const auto& a, const auto& b) { return a.call < b.call; });
  Finding finding = log_finding(log, "log.ranks-disagree", "", first->at);
  say_who(comm, of, *first, finding);
  if (first->what == "datatype" || first->what == "reduction")
    finding.summary +=
        "; NCCL does not compare it: where the sizes fit the call ends with wrong numbers";
  finding.evidence.push_back(log_evidence(log, first->other_at));
  finding.confidence = Confidence::kCertain;
  finding.next = {"TORCH_DISTRIBUTED_DEBUG=DETAIL"};
  judgement.findings.push_back(std::move(finding));
}

// Every process prints a setting that it has: fewer lines than processes of a job that is in the
// log with all its ranks, one per process.
void judge_set_on_some(const DebugLog& log, const nccl::LogSetting& setting, Judgement& judgement) {
  const std::size_t processes = log.named_processes();
  const bool is_whole = std::any_of(log.comms.begin(), log.comms.end(), [&](const LogComm& comm) {
    return comm.size > 1 && comm.ranks_seen == comm.size &&
           static_cast<std::size_t>(comm.size) == processes;
  });
  if (!is_whole || setting.count >= processes) return;
  Finding finding = log_finding(log, "log.settings-differ",
                                fmt::format("{}={} is set on {} of {} processes", setting.name,
                                            setting.value, setting.count, processes),
                                setting.first);
  finding.confidence = Confidence::kLikely;
  judgement.findings.push_back(std::move(finding));
}

void judge_settings(const DebugLog& log, Judgement& judgement) {
  for (const std::string_view name : kEqualSettings) {
    const nccl::LogSetting* first = nullptr;
    for (const nccl::LogSetting& setting : log.settings) {
      if (setting.name != name || setting.by_plugin) continue;
      if (first == nullptr) {
        first = &setting;
        continue;
      }
      Finding finding = log_finding(
          log, "log.settings-differ",
          fmt::format("{} is {} on some ranks and {} on others", name, first->value, setting.value),
          first->first);
      finding.evidence.push_back(log_evidence(log, setting.first));
      finding.confidence = Confidence::kCertain;
      judgement.findings.push_back(std::move(finding));
      first = nullptr;
      break;
    }
    if (first != nullptr) judge_set_on_some(log, *first, judgement);
  }
}

// Communicators of one rank: of several processes, or an excerpt that shows nothing else.
void judge_singles(const DebugLog& log, Judgement& judgement) {
  std::set<int> alone;
  const LogComm* first = nullptr;
  for (const LogComm& comm : log.comms) {
    if (comm.size > 1 || (!comm.rings.empty() && !comm.is_single)) return;
    if (comm.size == 0 && (!comm.is_single || comm.rings.size() < 2)) continue;
    if (first == nullptr) first = &comm;
    alone.insert(comm.processes.begin(), comm.processes.end());
  }
  if (first == nullptr || log.listed_ranks > 1) return;
  if (alone.size() > 1) {
    judgement.findings.push_back(
        log_finding(log, "log.many-singles",
                    fmt::format("{} processes ran, each alone in a communicator of one rank: "
                                "nothing went between them",
                                alone.size()),
                    first->first));
    judgement.findings.back().confidence = Confidence::kCertain;
    judgement.findings.back().next = {"make MPI=1 MPI_HOME=...   (nccl-tests)"};
  } else if (first->size == 0) {
    judgement.findings.push_back(log_finding(
        log, "log.one-rank",
        fmt::format(
            "every ring of this process has rank 0 only ({} channels): its communicator has "
            "one rank. If several processes ran, each was alone (nccl-tests without MPI)",
            first->rings.size()),
        first->first));
    judgement.findings.back().next = {"make MPI=1 MPI_HOME=...   (nccl-tests)"};
  }
}

}  // namespace

Judgement judge_log_ranks(const DebugLog& log) {
  Judgement judgement;
  const bool failed = has_failed(log);
  const std::vector<CommRanks> by_comm = ranks_by_comm(log);
  for (std::size_t i = 0; i < log.comms.size(); ++i) {
    judge_disagreements(log, log.comms[i], by_comm[i], judgement);
    judge_split(log, log.comms[i], by_comm[i], judgement);
    if (failed) continue;
    judge_shared_gpu(log, log.comms[i], by_comm[i], judgement);
    judge_init(log, log.comms[i], by_comm[i], judgement);
    judge_late(log, log.comms[i], by_comm[i], judgement);
  }
  judge_settings(log, judgement);
  judge_singles(log, judgement);
  if (log.torn_lines > 0 && 50 * log.torn_lines > log.nccl_lines)
    judgement.caveats.push_back(core::make_caveat(
        "log.torn-lines", fmt::format("{} of {} lines are broken", log.torn_lines, log.nccl_lines),
        "what they said is not counted"));
  if (log.was_full)
    judgement.caveats.push_back(core::make_caveat("log.too-much",
                                                  "more processes or communicators than are kept",
                                                  "some ranks were only counted"));
  return judgement;
}

}  // namespace comm_probe::diagnose
