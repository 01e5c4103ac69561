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
    const auto last =
        std::min_element(of.ranks.begin(), of.ranks.end(),
                         [](const LogRank* a, const LogRank* b) { return a->phase < b->phase; });
    Finding finding = log_finding(
        log, "log.init-incomplete",
        fmt::format("none of the {} ranks ended its initialisation; the last, rank {}, {}",
                    comm.size, (*last)->rank, log_phase_text((*last)->phase)),
        (*last)->first);
    finding.ranks = {(*last)->rank};
    finding.confidence = Confidence::kPossible;
    finding.next = {"py-spy dump --pid PID   (of that rank)"};
    judgement.findings.push_back(std::move(finding));
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

void judge_disagreements(const DebugLog& log, const LogComm& comm, Judgement& judgement) {
  if (comm.disagreements.empty() || judgement.has("log.ranks-disagree")) return;
  const auto first = std::min_element(comm.disagreements.begin(), comm.disagreements.end(),
                                      [](const auto& a, const auto& b) { return a.call < b.call; });
  Finding finding =
      log_finding(log, "log.ranks-disagree",
                  fmt::format("at call {} the {} of rank {} is {}, of others {}", first->call,
                              first->what, first->rank, first->said, first->others),
                  first->at);
  finding.evidence.push_back(log_evidence(log, first->other_at));
  finding.ranks = {first->rank};
  finding.confidence = Confidence::kCertain;
  finding.next = {"TORCH_DISTRIBUTED_DEBUG=DETAIL"};
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
      break;
    }
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
    judge_disagreements(log, log.comms[i], judgement);
    judge_split(log, log.comms[i], by_comm[i], judgement);
    if (!failed) judge_init(log, log.comms[i], by_comm[i], judgement);
  }
  judge_settings(log, judgement);
  judge_singles(log, judgement);
  if (log.torn_lines > 0 && 50 * log.torn_lines > log.nccl_lines)
    judgement.caveats.push_back(core::make_caveat(
        "log.torn-lines", fmt::format("{} of {} lines are broken", log.torn_lines, log.nccl_lines),
        "what they said is not counted", false));
  if (log.was_full)
    judgement.caveats.push_back(core::make_caveat("log.too-much",
                                                  "more processes or communicators than are kept",
                                                  "some ranks were only counted"));
  return judgement;
}

}  // namespace comm_probe::diagnose
