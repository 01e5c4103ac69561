#include "diagnose/hang_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/finding_table.h"
#include "diagnose/hang_moving.h"
#include "diagnose/hang_reasons.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using core::Confidence;
using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;

namespace {

bool has_messages(const torch::Job& job, int rank) {
  const torch::Digest* digest = job.digest_of(rank);
  return digest != nullptr && !digest->messages.empty();
}

// Nothing is open and no message was recorded, but the log tells of a send or receive outside of a
// batch: the host stands in the creation of the communicator of the pair.
bool became_p2p(HangVerdict& verdict, const torch::Job& job, const JobLines& lines) {
  if (verdict.kind != HangKind::kRankDeadOrStuck) return false;
  for (const int rank : verdict.culprits) {
    const JobLine* warning = lines.first(JobEvent::kUnbatchedP2p, rank);
    if (warning == nullptr || has_messages(job, rank)) continue;
    verdict.kind = HangKind::kP2pUnpaired;
    verdict.culprits = {rank};
    verdict.summary = fmt::format(
        "rank {} has called a send or receive outside of a batch and its peer has not: it is "
        "blocked while the communicator of the pair is made, before anything is recorded ({})",
        rank, verdict.summary);
    verdict.evidence.push_back(evidence_of(*warning));
    verdict.alternatives = {{HangKind::kRankDeadOrStuck, {rank}, "py-spy dump on this rank"}};
    verdict.next = {
        fmt::format("py-spy dump --pid PID on rank {}: which peer is it sending to?", rank),
        "let both sides use batch_isend_irecv, or the peer make the matching call"};
    return true;
  }
  return false;
}

// An error of the program, or a signal, is why the rank does not come: nothing else decides.
void add_reasons(HangVerdict& verdict, const JobLines& lines) {
  if (verdict.kind != HangKind::kRankDeadOrStuck) return;
  const std::set<int> told = victim_ranks(lines);
  for (const int rank : verdict.culprits) {
    const JobLine* line = reason_of(lines, rank, told);
    if (line == nullptr) continue;
    verdict.summary += fmt::format("; rank {}: {}", rank, reason_text(*line));
    verdict.evidence.insert(verdict.evidence.begin(), evidence_of(*line));
    if (verdict.culprits.size() == 1) verdict.is_code = is_code(*line);
    if (line->event == JobEvent::kException || line->event == JobEvent::kProcessDied) {
      verdict.alternatives.clear();
      verdict.confidence = Confidence::kCertain;
      verdict.next = {fmt::format("the traceback or the end of the log of rank {} ({}:{})", rank,
                                  line->file, line->line)};
    }
    const bool is_told = std::any_of(
        verdict.alternatives.begin(), verdict.alternatives.end(),
        [](const HangAlternative& other) { return other.kind == HangKind::kParamMismatch; });
    if (line->event == JobEvent::kEndedNormally && !is_told)
      verdict.alternatives.push_back(
          {HangKind::kParamMismatch,
           {rank},
           "the last calls of this rank: it may have made another call that needed nobody"});
  }
}

void add_network(HangVerdict& verdict, const JobLines& lines) {
  for (const JobEvent event : {JobEvent::kNcclCompletion, JobEvent::kXid, JobEvent::kAsyncError,
                               JobEvent::kNcclConnection}) {
    const JobLine* line = lines.first(event);
    if (line == nullptr) continue;
    verdict.evidence.push_back(evidence_of(*line));
    if (event == JobEvent::kNcclConnection) continue;
    verdict.confidence = Confidence::kLikely;
    verdict.summary += fmt::format("; {}", job_event_name(event));
    if (line->code) verdict.summary += fmt::format(" {}", *line->code);
  }
}

// Several ranks left no dump: whose log tells of an error of a peer is a victim, and if one alone
// is quiet it is the one that went.
void split_missing(HangVerdict& verdict, const torch::Job& job, const JobLines& lines) {
  if (verdict.kind != HangKind::kNotDecidable && verdict.kind != HangKind::kRankDeadOrStuck) return;
  std::vector<int> suspects = verdict.culprits;
  for (const HangAlternative& other : verdict.alternatives)
    if (suspects.empty() && other.kind == HangKind::kRankDeadOrStuck) suspects = other.ranks;
  const std::set<int> told = victim_ranks(lines);
  std::vector<int> quiet, victims;
  for (const int rank : suspects) {
    const bool is_absent = job.digest_of(rank) == nullptr;
    if (!is_absent || !lines.logs.contains(rank)) return;
    (told.contains(rank) ? victims : quiet).push_back(rank);
  }
  if (quiet.size() != 1 || victims.empty()) return;
  verdict.kind = HangKind::kRankDeadOrStuck;
  verdict.culprits = quiet;
  verdict.confidence = Confidence::kLikely;
  verdict.victims.insert(verdict.victims.end(), victims.begin(), victims.end());
  std::sort(verdict.victims.begin(), verdict.victims.end());
  verdict.victims.erase(std::unique(verdict.victims.begin(), verdict.victims.end()),
                        verdict.victims.end());
  std::erase_if(verdict.victims, [&](int rank) { return rank == quiet.front(); });
  std::erase_if(verdict.alternatives, [](const HangAlternative& other) {
    return other.kind == HangKind::kRankDeadOrStuck;
  });
  const std::string victims_text = ranks_text(victims);
  verdict.summary +=
      fmt::format("; {} {} told that a peer has gone, and the log of rank {} ends without an error",
                  victims_text, victims.size() == 1 ? "was" : "were", quiet.front());
  for (const int rank : victims)
    for (const JobEvent event : {JobEvent::kAsyncError, JobEvent::kNcclConnection})
      if (const JobLine* line = lines.first(event, rank)) {
        verdict.evidence.push_back(evidence_of(*line));
        break;
      }
  verdict.next.insert(verdict.next.begin(),
                      fmt::format("how did the process of rank {} end: exit code, launcher's log, "
                                  "dmesg",
                                  quiet.front()));
}

// A time-out of a call that the dump of the same rank holds as completed is of another run.
bool is_foreign(const JobLine& timeout, const torch::Job& job) {
  if (!timeout.seq || !timeout.rank) return false;
  const torch::Digest* digest = job.digest_of(*timeout.rank);
  if (digest == nullptr || digest->dump.cut) return false;
  bool is_done = false;
  for (const torch::Work& work : digest->works) {
    if (work.seq != *timeout.seq) continue;
    if (work.state != torch::Work::State::kDone) return false;
    is_done = true;
  }
  return is_done;
}

// Those that fit the dumps.
std::vector<const JobLine*> own_timeouts(const torch::Job& job, const JobLines& lines) {
  std::vector<const JobLine*> own = lines.of(JobEvent::kTimeout);
  std::erase_if(own, [&](const JobLine* line) { return is_foreign(*line, job); });
  return own;
}

// Only where none fits.
const JobLine* foreign_timeout(const torch::Job& job, const JobLines& lines) {
  return own_timeouts(job, lines).empty() ? lines.first(JobEvent::kTimeout) : nullptr;
}

// Of the verdict's call and group, else the first.
const JobLine* timeout_of(const HangVerdict& verdict, const torch::Job& job,
                          const JobLines& lines) {
  const JobLine* best = nullptr;
  int best_score = -1;
  for (const JobLine* line : own_timeouts(job, lines)) {
    const bool of_call = verdict.seq && line->seq == *verdict.seq;
    const bool of_member =
        verdict.group && line->rank && job.groups[*verdict.group].lane_of(*line->rank) != nullptr;
    const int score = (of_call ? 2 : 0) + (of_member ? 1 : 0);
    if (score > best_score) {
      best = line;
      best_score = score;
    }
  }
  return best;
}

core::Caveat foreign_caveat(const JobLine& timeout) {
  return core::make_caveat(
      "hang.log-foreign",
      fmt::format(
          "{}:{} tells of a time-out in call {}, which the dump of rank {} holds as completed",
          timeout.file, timeout.line, *timeout.seq, *timeout.rank),
      "the logs seem to be of another run and were not used");
}

// Ranks without an open call that wait for the id of a communicator make the first call of another
// group: they are not gone, they are elsewhere in the program than the ranks that wait for them.
void tell_of_other_group(HangVerdict& verdict, const torch::Job& job, const JobLines& lines) {
  if (verdict.kind != HangKind::kNotDecidable && verdict.kind != HangKind::kRankDeadOrStuck) return;
  const std::vector<int>& suspects = verdict.culprits.empty() ? job.missing : verdict.culprits;
  std::vector<int> elsewhere;
  const JobLine* shown = nullptr;
  for (const int rank : suspects) {
    const JobLine* line = lines.first(JobEvent::kStoreWait, rank);
    if (line == nullptr) continue;
    elsewhere.push_back(rank);
    if (shown == nullptr) shown = line;
  }
  if (shown == nullptr || elsewhere != suspects) return;
  verdict.kind = HangKind::kCountMismatch;
  verdict.confidence = Confidence::kLikely;
  verdict.is_code = true;
  verdict.culprits = elsewhere;
  verdict.summary = fmt::format(
      "{} in the first call of another group, whose communicator id they wait for (store key {}), "
      "while the others wait for them in {}{}: one side has made a call that the other has not",
      ranks_text(elsewhere) + (elsewhere.size() == 1 ? " is" : " are"), shown->op, verdict.op,
      verdict.seq ? fmt::format(" {}", *verdict.seq) : "");
  verdict.evidence.insert(verdict.evidence.begin(), evidence_of(*shown));
  verdict.alternatives = {
      {HangKind::kCountMismatch, verdict.victims,
       fmt::format("the traceback of one side and the stack of the other: {} may have made a call "
                   "too many",
                   ranks_text(verdict.victims))}};
  verdict.next = {
      fmt::format("the traceback above {}:{} against the stack below: do all ranks have "
                  "the same number of steps?",
                  shown->file, shown->line)};
}

// No call is open in the dumps: they are older than the fault, or it lies where the recorder does
// not look. What the logs tell stands.
void told_by_logs(HangJudgement& judgement, const JobLines& lines) {
  if (!lines.tell_of_trouble()) return;
  HangJudgement told = judge_logs(lines);
  if (told.verdict.kind == HangKind::kHealthy) return;
  told.verdict.summary +=
      "; the dumps show no open call: they were taken before, or of another run";
  told.verdict.confidence = std::max(told.verdict.confidence, Confidence::kLikely);
  told.verdict.alternatives.push_back(
      {HangKind::kHealthy, {}, "the times of the dumps and of the lines: are they of one run?"});
  judgement.verdict = std::move(told.verdict);
  for (core::Caveat& caveat : told.caveats) judgement.caveats.push_back(std::move(caveat));
}

}  // namespace

void add_logs(HangJudgement& judgement, const torch::Job& job, const JobLines& lines) {
  HangVerdict& verdict = judgement.verdict;
  if (const JobLine* foreign = foreign_timeout(job, lines)) {
    judgement.caveats.push_back(foreign_caveat(*foreign));
    return;
  }
  if (verdict.kind == HangKind::kHealthy) return told_by_logs(judgement, lines);
  const bool is_quiet = !lines.logs.empty() && !lines.tell_of_trouble();
  if (is_quiet && is_young_by_logs(HangState(job), lines)) {
    verdict = as_moving(std::move(verdict),
                        "the logs of all ranks tell of no time-out and no error, and no call was "
                        "old when the dumps were taken");
    if (verdict.kind == HangKind::kHealthy || verdict.kind == HangKind::kSlow) return;
  }
  split_missing(verdict, job, lines);
  tell_of_other_group(verdict, job, lines);
  if (!became_p2p(verdict, job, lines)) add_reasons(verdict, lines);
  if (verdict.kind == HangKind::kNetworkOrHardware) add_network(verdict, lines);
  const JobLine* timeout = timeout_of(verdict, job, lines);
  if (timeout == nullptr) return;
  verdict.evidence.push_back(evidence_of(*timeout));
  std::erase_if(verdict.alternatives, [](const HangAlternative& other) {
    return other.kind == HangKind::kHealthy || other.kind == HangKind::kSlow;
  });
  const bool dump_proves =
      verdict.kind == HangKind::kRankDeadOrStuck && verdict.confidence == Confidence::kLikely &&
      std::all_of(verdict.culprits.begin(), verdict.culprits.end(), [&](int rank) {
        return job.digest_of(rank) != nullptr && !job.digest_of(rank)->dump.cut;
      });
  if (dump_proves) verdict.confidence = Confidence::kCertain;
  if (verdict.confidence == Confidence::kPossible && verdict.kind != HangKind::kNotDecidable)
    verdict.confidence = Confidence::kLikely;
}

namespace {

// What new_group takes where it is given no time-out (pytorch issue 135352).
constexpr std::int64_t kDefaultMs = 600'000;

// A limit that ended a call, or will end it.
struct Limit {
  std::int64_t ms = 0;
  core::Evidence evidence = {};
};

// Of the first time-out of the logs; without one, of the call that the victims of the verdict wait
// in, if it is the default.
std::optional<Limit> limit_of(const HangVerdict& verdict, const torch::Job& job,
                              const JobLines& lines) {
  if (const JobLine* timeout = lines.first(JobEvent::kTimeout)) {
    if (!timeout->limit_ms) return std::nullopt;
    return Limit{*timeout->limit_ms, evidence_of(*timeout)};
  }
  if (!verdict.group || !verdict.seq || verdict.victims.empty()) return std::nullopt;
  const torch::Lane* lane = job.groups[*verdict.group].lane_of(verdict.victims.front());
  const torch::Work* work = lane == nullptr ? nullptr : lane->find(*verdict.seq);
  if (work == nullptr || work->timeout_ms != kDefaultMs) return std::nullopt;
  return Limit{kDefaultMs,
               {lane->digest->dump.file, std::nullopt,
                fmt::format("call {}: timeout_ms {}", *verdict.seq, work->timeout_ms)}};
}

// A group made without a time-out gets the default, not the one that init_process_group was given.
void find_short_timeout(const HangVerdict& verdict, const torch::Job& job, const JobLines& lines,
                        std::vector<core::Finding>& findings) {
  const std::optional<Limit> limit = limit_of(verdict, job, lines);
  if (!limit) return;
  std::int64_t longest = 0;
  for (const auto& digest : job.digests)
    for (const torch::Work& work : digest->works)
      longest = std::max<std::int64_t>(longest, work.timeout_ms);
  for (const JobLine* line : lines.of(JobEvent::kTimeout))
    longest = std::max(longest, line->limit_ms.value_or(0));
  if (longest <= limit->ms) return;
  core::Finding finding = core::make_finding(
      "hang.timeout-shorter",
      fmt::format("the group in question has a limit of {} s, another one of {} s: it was made "
                  "without a time-out and got the default",
                  limit->ms / 1000, longest / 1000));
  finding.evidence.push_back(limit->evidence);
  finding.confidence = Confidence::kLikely;
  finding.next = {"new_group(..., timeout=...): it does not inherit that of init_process_group"};
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<core::Finding> findings_beside(const HangVerdict& verdict, const torch::Job& job,
                                           const JobLines& lines) {
  std::vector<core::Finding> findings;
  find_short_timeout(verdict, job, lines, findings);
  return findings;
}

}  // namespace comm_probe::diagnose
