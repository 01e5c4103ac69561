// What only shows when the lines of several ranks stand side by side: they must load one NCCL, use
// one network, call the same collectives in the same order (shared spec users-nccl, 20 and 22).
#include <fmt/format.h>

#include <algorithm>
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
using nccl::LogProcess;
using nccl::LogRank;

// A rank may be ahead of another by the calls that the GPU has not begun.
constexpr std::uint64_t kCallsAhead = 16;

const LogProcess& process_at(const DebugLog& log, int process) {
  return log.processes[static_cast<std::size_t>(process)];
}

// The processes of a communicator by what they say of one thing.
std::map<int, std::vector<int>> sides_of(const DebugLog& log, const LogComm& comm,
                                         int LogProcess::*said) {
  std::map<int, std::vector<int>> sides;
  for (const int process : std::set<int>(comm.processes.begin(), comm.processes.end()))
    if (process_at(log, process).*said >= 0)
      sides[process_at(log, process).*said].push_back(process);
  return sides;
}

std::string side_hosts(const DebugLog& log, const std::vector<int>& processes) {
  std::set<int> hosts;
  for (const int process : processes) hosts.insert(process_at(log, process).host);
  return hosts_text(log, {hosts.begin(), hosts.end()});
}

void judge_versions(const DebugLog& log, const LogComm& comm, Judgement& judgement) {
  const auto sides = sides_of(log, comm, &LogProcess::version);
  if (comm.size < 2 || sides.size() < 2 || judgement.has("log.version-mismatch")) return;
  const auto& [first, first_processes] = *sides.begin();
  const auto& [last, last_processes] = *sides.rbegin();
  const nccl::LogFact& a = log.versions[static_cast<std::size_t>(first)];
  const nccl::LogFact& b = log.versions[static_cast<std::size_t>(last)];
  Finding finding = log_finding(
      log, "log.version-mismatch",
      fmt::format("NCCL {} on {}, {} on {}, in one communicator", a.text,
                  side_hosts(log, first_processes), b.text, side_hosts(log, last_processes)),
      a.first);
  finding.evidence.push_back(log_evidence(log, b.first));
  finding.ranks = ranks_of(
      log, last_processes.size() < first_processes.size() ? last_processes : first_processes);
  finding.confidence = Confidence::kCertain;
  judgement.findings.push_back(std::move(finding));
}

void judge_networks(const DebugLog& log, const LogComm& comm, Judgement& judgement) {
  const auto sides = sides_of(log, comm, &LogProcess::network);
  if (comm.size < 2 || sides.size() < 2 || judgement.has("log.networks-differ")) return;
  std::string text;
  const std::vector<int>* least = nullptr;
  for (const auto& [network, processes] : sides) {
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ",
                        log.networks[static_cast<std::size_t>(network)].text,
                        side_hosts(log, processes));
    if (least == nullptr || processes.size() < least->size()) least = &processes;
  }
  Finding finding =
      log_finding(log, "log.networks-differ",
                  fmt::format("the ranks of one communicator use different networks: {}", text),
                  log.networks[static_cast<std::size_t>(sides.begin()->first)].first);
  finding.evidence.push_back(
      log_evidence(log, log.networks[static_cast<std::size_t>(sides.rbegin()->first)].first));
  if (2 * least->size() < comm.processes.size()) finding.ranks = ranks_of(log, *least);
  finding.confidence = Confidence::kCertain;
  judgement.findings.push_back(std::move(finding));
}

// Ranks whose last call is far behind the last call of the others; of a communicator that is in the
// log with all its ranks and was not destroyed.
void judge_progress(const DebugLog& log, const LogComm& comm,
                    const std::vector<const LogRank*>& ranks, Judgement& judgement) {
  if (comm.size < 2 || static_cast<int>(ranks.size()) != comm.size ||
      judgement.has("log.rank-behind"))
    return;
  std::uint64_t most = 0;
  for (const LogRank* rank : ranks) {
    if (!rank->last_call || rank->phase == nccl::LogPhase::kEnded) return;
    most = std::max(most, *rank->last_call);
  }
  std::vector<const LogRank*> behind;
  for (const LogRank* rank : ranks)
    if (*rank->last_call + kCallsAhead < most) behind.push_back(rank);
  if (behind.empty() || 2 * behind.size() > ranks.size()) return;
  const LogRank* least = *std::min_element(
      behind.begin(), behind.end(),
      [](const LogRank* a, const LogRank* b) { return *a->last_call < *b->last_call; });
  Finding finding = log_finding(log, "log.rank-behind",
                                fmt::format("rank {} stops at call {}, others reach call {}",
                                            least->rank, *least->last_call, most),
                                least->first);
  for (const LogRank* rank : behind)
    if (finding.ranks.size() < 64) finding.ranks.push_back(rank->rank);
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.confidence = Confidence::kPossible;
  finding.next = {fmt::format("py-spy dump --pid {}   (on {})", process_at(log, least->process).pid,
                              hosts_text(log, {process_at(log, least->process).host})),
                  "comm-probe hang DIR   (Flight Recorder dumps of all ranks)"};
  judgement.findings.push_back(std::move(finding));
}

void judge_order(const DebugLog& log, Judgement& judgement) {
  if (log.inversions.empty()) return;
  const nccl::LogOrderInversion& first = log.inversions.front();
  const auto name = [&](int i) {
    const std::string& id = log.comms[static_cast<std::size_t>(first.comms[i])].id;
    return fmt::format("call {} of communicator {}", first.calls[i], id.empty() ? "?" : id);
  };
  const std::vector<int> here = ranks_of(log, {first.processes[0]});
  const std::vector<int> there = ranks_of(log, {first.processes[1]});
  Finding finding = log_finding(
      log, "log.order-differs",
      fmt::format("{} calls {} before {}, {} the other way round",
                  here.empty() ? "a process" : fmt::format("rank {}", here.front()), name(0),
                  name(1), there.empty() ? "another" : fmt::format("rank {}", there.front())),
      first.at);
  finding.evidence.push_back(log_evidence(log, first.other_at));
  finding.confidence = Confidence::kPossible;
  finding.next = {
      "comm-probe hang DIR   (Flight Recorder dumps of all ranks)",
      "CUDA_LAUNCH_BLOCKING is no cure: give both communicators one order on all ranks"};
  judgement.findings.push_back(std::move(finding));
}

}  // namespace

Judgement judge_log_across(const DebugLog& log) {
  Judgement judgement;
  std::vector<std::vector<const LogRank*>> ranks(log.comms.size());
  for (const LogRank& rank : log.ranks) ranks[static_cast<std::size_t>(rank.comm)].push_back(&rank);
  for (std::size_t i = 0; i < log.comms.size(); ++i) {
    judge_versions(log, log.comms[i], judgement);
    judge_networks(log, log.comms[i], judgement);
    judge_progress(log, log.comms[i], ranks[i], judgement);
  }
  judge_order(log, judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
