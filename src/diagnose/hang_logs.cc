#include "diagnose/hang_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/finding_table.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using core::Confidence;
using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;

namespace {

core::Evidence evidence_of(const JobLine& line) { return {line.file, line.line, line.text}; }

// Lines that say why a rank does not come, the strongest first.
constexpr JobEvent kReasons[] = {JobEvent::kOutOfMemory, JobEvent::kXid,
                                 JobEvent::kProcessDied, JobEvent::kEndedNormally,
                                 JobEvent::kGilHeld,     JobEvent::kHeartbeatLost,
                                 JobEvent::kAsyncError,  JobEvent::kRasDead};

std::string reason_text(const JobLine& line) {
  switch (line.event) {
    case JobEvent::kOutOfMemory:
      return "ran out of memory";
    case JobEvent::kXid:
      return "its GPU reported an Xid";
    case JobEvent::kProcessDied:
      return line.code ? fmt::format("its process ended with {}", *line.code) : "its process ended";
    case JobEvent::kEndedNormally:
      return "its process ended normally";
    case JobEvent::kGilHeld:
      return "a thread of it holds the GIL";
    case JobEvent::kHeartbeatLost:
      return "its watchdog thread is stuck";
    case JobEvent::kAsyncError:
      return "its communicator reported an error";
    case JobEvent::kRasDead:
      return "ncclras gets no answer from it";
    case JobEvent::kTimeout:
    case JobEvent::kWatchdogStatus:
    case JobEvent::kDumpSignal:
    case JobEvent::kDumpWritten:
    case JobEvent::kStoreWait:
    case JobEvent::kUnbatchedP2p:
    case JobEvent::kDesyncLagging:
    case JobEvent::kFingerprint:
    case JobEvent::kNcclCompletion:
    case JobEvent::kNcclConnection:
    case JobEvent::kGlooTimeout:
    case JobEvent::kRasMismatch:
      break;
  }
  return "";
}

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

void add_reasons(HangVerdict& verdict, const JobLines& lines) {
  for (const int rank : verdict.culprits)
    for (const JobEvent event : kReasons) {
      const JobLine* line = lines.first(event, rank);
      if (line == nullptr) continue;
      verdict.summary += fmt::format("; rank {}: {}", rank, reason_text(*line));
      verdict.evidence.push_back(evidence_of(*line));
      if (event == JobEvent::kEndedNormally)
        verdict.alternatives.push_back(
            {HangKind::kParamMismatch,
             {rank},
             "the last calls of this rank: it may have made another call that needed nobody"});
      break;
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

}  // namespace

void add_logs(HangJudgement& judgement, const torch::Job& job, const JobLines& lines) {
  HangVerdict& verdict = judgement.verdict;
  const JobLine* timeout = lines.first(JobEvent::kTimeout);
  if (verdict.kind == HangKind::kHealthy) return;
  if (!became_p2p(verdict, job, lines)) add_reasons(verdict, lines);
  if (verdict.kind == HangKind::kNetworkOrHardware) add_network(verdict, lines);
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
  if (verdict.confidence == Confidence::kPossible) verdict.confidence = Confidence::kLikely;
}

namespace {

// What a rank said of the call that timed out.
struct Report {
  int rank = 0;
  const JobLine* line = nullptr;
  auto signature() const {
    return std::tuple(line->op, line->elements_in.value_or(-1), line->elements_out.value_or(-1));
  }
};

// The lines of one rank follow each other: the time-out, then the group's status.
std::string group_behind(const JobLines& lines, const JobLine& timeout) {
  for (const JobLine& line : lines.lines)
    if (line.event == JobEvent::kWatchdogStatus && line.file == timeout.file &&
        line.rank == timeout.rank && line.line > timeout.line && line.seq == timeout.seq)
      return line.group;
  return "";
}

using Reports = std::vector<Report>;

std::map<std::string, Reports> reports_by_group(const JobLines& lines) {
  std::map<std::string, Reports> groups;
  std::set<std::pair<std::string, int>> seen;
  for (const JobLine& line : lines.lines) {
    if (line.event != JobEvent::kTimeout || !line.rank || !line.seq) continue;
    const std::string group = group_behind(lines, line);
    if (seen.insert({group, *line.rank}).second) groups[group].push_back({*line.rank, &line});
  }
  return groups;
}

std::string report_text(const JobLine& line) {
  std::string text = line.op;
  if (line.elements_in && *line.elements_in >= 0)
    text += fmt::format(" of {} elements", *line.elements_in);
  return text;
}

HangVerdict verdict_of(HangKind kind, std::string summary, const JobLine& line) {
  HangVerdict verdict;
  verdict.kind = kind;
  verdict.summary = std::move(summary);
  verdict.evidence.push_back(evidence_of(line));
  if (line.seq && *line.seq >= 0 && *line.seq < 0xffffffff)
    verdict.seq = static_cast<std::uint32_t>(*line.seq);
  verdict.op = line.op;
  return verdict;
}

// The verdict of TORCH_DISTRIBUTED_DEBUG=DETAIL itself; all pairs together give the minority.
std::optional<HangVerdict> from_fingerprints(const JobLines& lines) {
  const auto found = lines.of(JobEvent::kFingerprint);
  if (found.empty()) return std::nullopt;
  const JobLine& line = *found.front();
  HangVerdict verdict = verdict_of(
      HangKind::kParamMismatch,
      fmt::format("call {}: rank {} runs {}, rank {} runs {}: they differ", line.seq.value_or(0),
                  line.rank.value_or(-1), line.op, line.peer.value_or(-1), line.other_op),
      line);
  if (line.op != line.other_op) verdict.op = line.op + " vs " + line.other_op;
  std::map<int, int> blamed;
  for (const JobLine* one : found)
    if (one->peer && one->rank) {
      ++blamed[*one->rank];
      ++blamed[*one->peer];
    }
  for (const auto& [rank, count] : blamed)
    if (static_cast<std::size_t>(count) == found.size() && found.size() > 1 && blamed.size() > 2)
      verdict.culprits.push_back(rank);
  verdict.confidence = verdict.culprits.empty() ? Confidence::kLikely : Confidence::kCertain;
  verdict.alternatives.push_back({HangKind::kCountMismatch,
                                  {},
                                  "Flight Recorder dumps: is one sequence the other's, shifted?"});
  verdict.next = {"the lines of both ranks: what makes the call depend on the rank or its data?"};
  return verdict;
}

// Time-outs of one group: the same number with other arguments, or other numbers.
std::optional<HangVerdict> from_reports(const std::string& group, const Reports& reports) {
  std::map<std::int64_t, Reports> by_seq;
  for (const Report& report : reports) by_seq[*report.line->seq].push_back(report);
  for (const auto& [seq, same] : by_seq) {
    std::map<decltype(same.front().signature()), Reports> sides;
    for (const Report& report : same) sides[report.signature()].push_back(report);
    if (sides.size() < 2) continue;
    const auto least = std::min_element(
        sides.begin(), sides.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const auto most = std::max_element(
        sides.begin(), sides.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const JobLine& odd = *least->second.front().line;
    HangVerdict verdict = verdict_of(
        HangKind::kParamMismatch,
        fmt::format("call {} of group {}: rank {} reports {}, rank {} {}", seq,
                    group.empty() ? "?" : group, least->second.front().rank, report_text(odd),
                    most->second.front().rank, report_text(*most->second.front().line)),
        odd);
    verdict.evidence.push_back(evidence_of(*most->second.front().line));
    if (2 * most->second.size() > same.size())
      for (const auto& [signature, side] : sides)
        for (const Report& report : side)
          if (signature != most->first) verdict.culprits.push_back(report.rank);
    std::sort(verdict.culprits.begin(), verdict.culprits.end());
    verdict.next = {"Flight Recorder dumps of all ranks: TORCH_FR_BUFFER_SIZE=2000"};
    return verdict;
  }
  return std::nullopt;
}

// Ranks that were asked to dump and have nothing open, while others wait in a later call.
std::optional<HangVerdict> from_progress(const JobLines& lines) {
  std::int64_t most = -1;
  const JobLine* timeout = lines.first(JobEvent::kTimeout);
  for (const JobLine* line : lines.of(JobEvent::kDumpSignal))
    most = std::max(most, line->enqueued.value_or(-1));
  std::set<int> behind;
  const JobLine* shown = nullptr;
  for (const JobLine* line : lines.of(JobEvent::kDumpSignal)) {
    if (!line->rank || !line->enqueued || line->enqueued != line->completed) continue;
    if (*line->enqueued >= most || *line->enqueued < 0) continue;
    behind.insert(*line->rank);
    shown = line;
  }
  if (behind.empty() || timeout == nullptr) return std::nullopt;
  HangVerdict verdict =
      verdict_of(HangKind::kRankDeadOrStuck,
                 fmt::format("{} nothing open after call {}, the others have issued up to {}",
                             ranks_have({behind.begin(), behind.end()}), *shown->enqueued, most),
                 *shown);
  verdict.culprits = {behind.begin(), behind.end()};
  verdict.seq = static_cast<std::uint32_t>(*shown->enqueued + 1);
  verdict.next = {"py-spy dump on these ranks"};
  return verdict;
}

std::optional<HangVerdict> from_desync(const JobLines& lines) {
  const JobLine* line = lines.first(JobEvent::kDesyncLagging);
  if (line == nullptr || line->ranks.empty()) return std::nullopt;
  HangVerdict verdict =
      verdict_of(HangKind::kRankDeadOrStuck,
                 fmt::format("the desync report says that {} did not join (ranks of the group)",
                             ranks_text(line->ranks)),
                 *line);
  verdict.culprits = line->ranks;
  verdict.next = {"py-spy dump on these ranks", "Flight Recorder dumps of all ranks"};
  return verdict;
}

std::optional<HangVerdict> from_reasons(const JobLines& lines) {
  const bool others_wait = lines.first(JobEvent::kTimeout) != nullptr;
  for (const JobEvent event : kReasons) {
    if (event == JobEvent::kAsyncError) continue;
    std::set<int> ranks;
    const JobLine* shown = nullptr;
    for (const JobLine* line : lines.of(event)) {
      if (event == JobEvent::kProcessDied && line->code == -6)
        continue;  // the watchdog's own abort
      // one that ended well is to blame only while others wait and it did not
      const bool waited = line->rank && lines.first(JobEvent::kTimeout, line->rank) != nullptr;
      if (event == JobEvent::kEndedNormally && (waited || !others_wait)) continue;
      if (line->rank) ranks.insert(*line->rank);
      if (shown == nullptr) shown = line;
    }
    if (shown == nullptr) continue;
    HangVerdict verdict =
        verdict_of(HangKind::kRankDeadOrStuck,
                   fmt::format("{}: {}",
                               ranks.empty() ? std::string("a rank")
                                             : ranks_text({ranks.begin(), ranks.end()}),
                               reason_text(*shown)),
                   *shown);
    verdict.culprits = {ranks.begin(), ranks.end()};
    verdict.seq.reset();
    verdict.next = {"the log and dmesg of the host of this rank"};
    return verdict;
  }
  return std::nullopt;
}

std::optional<HangVerdict> from_network(const JobLines& lines) {
  const JobLine* line = lines.first(JobEvent::kNcclCompletion);
  if (line == nullptr) line = lines.first(JobEvent::kAsyncError);
  if (line == nullptr) return std::nullopt;
  std::string what = job_event_name(line->event);
  if (line->code) what += fmt::format(" {}", *line->code);
  HangVerdict verdict = verdict_of(
      HangKind::kNetworkOrHardware,
      fmt::format("{} on rank {}: the line names the peer", what, line->rank.value_or(-1)), *line);
  verdict.seq.reset();
  verdict.next = {"ibstat and the switch port of both hosts; NCCL_IB_TIMEOUT and retries",
                  "comm-probe topo check on both hosts"};
  return verdict;
}

// Launched by the host, so a lower count is a rank that does not come; one query may catch a job
// that moves.
std::optional<HangVerdict> from_ras(const JobLines& lines) {
  const JobLine* line = lines.first(JobEvent::kRasMismatch);
  if (line == nullptr || line->ranks.empty()) return std::nullopt;
  HangVerdict verdict =
      verdict_of(HangKind::kRankDeadOrStuck,
                 fmt::format("{} launched fewer operations than the others of the communicator",
                             ranks_have(line->ranks)),
                 *line);
  verdict.culprits = line->ranks;
  verdict.confidence = Confidence::kPossible;
  verdict.alternatives = {{HangKind::kSlow, line->ranks, "a second ncclras query after 10 s"}};
  verdict.next = {"ncclras again after 10 s: does the count of these ranks move?"};
  return verdict;
}

std::optional<HangVerdict> from_store(const JobLines& lines) {
  const auto found = lines.of(JobEvent::kStoreWait);
  if (found.empty()) return std::nullopt;
  std::set<int> waiting;
  for (const JobLine* line : found)
    if (line->rank) waiting.insert(*line->rank);
  HangVerdict verdict = verdict_of(
      HangKind::kNotDecidable,
      fmt::format(
          "{} wait for the id of a communicator (store key {}): other members have not made "
          "their first call in that group; no dump has an entry of it, which is expected",
          ranks_text({waiting.begin(), waiting.end()}), found.front()->op),
      *found.front());
  verdict.op.clear();
  verdict.victims = {waiting.begin(), waiting.end()};
  verdict.alternatives = {
      {HangKind::kCountMismatch, {}, "where are the members that do not wait here?"},
      {HangKind::kRankDeadOrStuck, {}, "py-spy on the members that do not wait"}};
  verdict.next = {"py-spy dump on the members of the group that do not print this line"};
  return verdict;
}

HangVerdict all_agree(const Reports& reports, const std::string& group) {
  HangVerdict verdict = verdict_of(
      HangKind::kNotDecidable,
      fmt::format("{} ranks timed out in call {} of group {} ({}); the logs show no difference",
                  reports.size(), *reports.front().line->seq, group.empty() ? "?" : group,
                  report_text(*reports.front().line)),
      *reports.front().line);
  for (const Report& report : reports) verdict.victims.push_back(report.rank);
  std::sort(verdict.victims.begin(), verdict.victims.end());
  verdict.confidence = Confidence::kPossible;
  verdict.alternatives = {{HangKind::kRankDeadOrStuck, {}, "which members print no line at all?"},
                          {HangKind::kNetworkOrHardware, {}, "NCCL_DEBUG=WARN lines, dmesg"}};
  verdict.next = {"Flight Recorder: TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"};
  return verdict;
}

}  // namespace

HangJudgement judge_logs(const JobLines& lines) {
  HangJudgement judgement;
  const auto groups = reports_by_group(lines);
  std::optional<HangVerdict> verdict = from_fingerprints(lines);
  for (const auto& [group, reports] : groups)
    if (!verdict) verdict = from_reports(group, reports);
  for (const auto source :
       {from_progress, from_desync, from_reasons, from_network, from_ras, from_store})
    if (!verdict) verdict = source(lines);
  if (!verdict && !groups.empty())
    verdict = all_agree(groups.begin()->second, groups.begin()->first);
  judgement.verdict = verdict.value_or(HangVerdict{});
  if (judgement.verdict.kind == HangKind::kHealthy)
    judgement.verdict.summary = "no line of the logs tells of a hang";
  return judgement;
}

namespace {

// A group made without a time-out gets the default, not the one that init_process_group was given.
void find_short_timeout(const torch::Job& job, const JobLines& lines,
                        std::vector<core::Finding>& findings) {
  const JobLine* timeout = lines.first(JobEvent::kTimeout);
  if (timeout == nullptr || !timeout->limit_ms) return;
  std::int64_t longest = 0;
  for (const auto& digest : job.digests)
    for (const torch::Work& work : digest->works)
      longest = std::max<std::int64_t>(longest, work.timeout_ms);
  for (const JobLine* line : lines.of(JobEvent::kTimeout))
    longest = std::max(longest, line->limit_ms.value_or(0));
  if (longest <= *timeout->limit_ms) return;
  core::Finding finding = core::make_finding(
      "hang.timeout-shorter",
      fmt::format("the group that timed out has a limit of {} s, another one of {} s: it was made "
                  "without a time-out and got the default",
                  *timeout->limit_ms / 1000, longest / 1000));
  finding.evidence.push_back(evidence_of(*timeout));
  finding.confidence = Confidence::kLikely;
  finding.next = {"new_group(..., timeout=...): it does not inherit that of init_process_group"};
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<core::Finding> findings_of_logs(const torch::Job& job, const JobLines& lines) {
  std::vector<core::Finding> findings;
  find_short_timeout(job, lines, findings);
  return findings;
}

}  // namespace comm_probe::diagnose
