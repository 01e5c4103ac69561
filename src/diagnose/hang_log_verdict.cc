// What the logs say without any dump: the first of these that finds something stands.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/finding_table.h"
#include "diagnose/hang_logs.h"
#include "diagnose/hang_reasons.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using core::Confidence;
using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;

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
std::string group_behind(const JobLine& timeout, std::span<const JobLine> behind) {
  for (const JobLine& line : behind)
    if (line.event == JobEvent::kWatchdogStatus && line.file == timeout.file &&
        line.rank == timeout.rank && line.line > timeout.line && line.seq == timeout.seq)
      return line.group;
  return "";
}

using Reports = std::vector<Report>;

std::map<std::string, Reports> reports_by_group(const JobLines& lines) {
  std::map<std::string, Reports> groups;
  std::set<std::pair<std::string, int>> seen;
  const std::span<const JobLine> all(lines.lines);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const JobLine& line = all[i];
    if (line.event != JobEvent::kTimeout || !line.rank || !line.seq) continue;
    const std::string group =
        line.group.empty() ? group_behind(line, all.subspan(i + 1)) : line.group;
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
  HangVerdict verdict =
      verdict_of(HangKind::kParamMismatch,
                 fmt::format("call {}: rank {} runs {} {}, rank {} runs {} {}",
                             line.seq.value_or(0), line.rank.value_or(-1), line.op, line.what,
                             line.peer.value_or(-1), line.other_op, line.other_what),
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

// Ranks that were asked to dump and have nothing open, while others wait in a later call. The
// numbers are those of the first group: a rank that timed out in another group has something open.
std::optional<HangVerdict> from_progress(const JobLines& lines) {
  std::int64_t most = -1;
  const JobLine* timeout = lines.first(JobEvent::kTimeout);
  for (const JobLine* line : lines.of(JobEvent::kDumpSignal))
    most = std::max(most, line->enqueued.value_or(-1));
  const std::set<int> victims = victim_ranks(lines);
  std::set<int> behind;
  const JobLine* shown = nullptr;
  for (const JobLine* line : lines.of(JobEvent::kDumpSignal)) {
    if (!line->rank || !line->enqueued || line->enqueued != line->completed) continue;
    if (*line->enqueued >= most || *line->enqueued < 0) continue;
    if (victims.contains(*line->rank)) continue;
    behind.insert(*line->rank);
    shown = line;
  }
  if (behind.empty() || timeout == nullptr) return std::nullopt;
  HangVerdict verdict =
      verdict_of(HangKind::kRankDeadOrStuck,
                 fmt::format("{} nothing open in the first group after call {}, the others have "
                             "issued up to {} there",
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

// The JSON report names the ranks behind. Operations are launched by the host, so a lower count is
// a rank that does not come; one query may catch a job that moves.
HangVerdict from_ras_counts(const JobLine& line) {
  HangVerdict verdict =
      verdict_of(HangKind::kRankDeadOrStuck,
                 fmt::format("{} launched fewer operations than the others of the communicator",
                             ranks_have(line.ranks)),
                 line);
  verdict.culprits = line.ranks;
  verdict.confidence = Confidence::kPossible;
  verdict.alternatives = {{HangKind::kSlow, line.ranks, "a second ncclras query after 10 s"}};
  verdict.next = {"ncclras again after 10 s: does the count of these ranks move?"};
  return verdict;
}

// ncclras was asked once: counts that move are no hang.
std::optional<HangVerdict> from_ras(const JobLines& lines) {
  const JobLine* line = lines.first(JobEvent::kRasMismatch);
  if (line == nullptr) return std::nullopt;
  if (line->enqueued) return from_ras_counts(*line);
  std::string listed;
  if (!line->ranks.empty()) listed = fmt::format(" ({} listed)", ranks_text(line->ranks));
  HangVerdict verdict = verdict_of(
      HangKind::kNotDecidable,
      fmt::format("ncclras: operation counts differ: {}{}; the ranks with the smaller count hold "
                  "the others back, if the counts stand still",
                  line->what.empty() ? "see the report" : line->what, listed),
      *line);
  verdict.alternatives = {
      {HangKind::kHealthy, {}, "a second query 10 s later or more: do the counts move?"},
      {HangKind::kRankDeadOrStuck, {}, "py-spy on the ranks that stay behind"}};
  verdict.next = {"ncclras -v twice, 10 s apart or more: counts that stand still mean a hang",
                  "Flight Recorder dumps of all ranks"};
  return verdict;
}

std::string who_text(const std::set<int>& ranks, const JobLine& shown) {
  if (!ranks.empty()) return ranks_text({ranks.begin(), ranks.end()});
  if (shown.local_rank) return fmt::format("a rank with local rank {}", *shown.local_rank);
  if (!shown.host.empty()) return "a rank on " + shown.host;
  return "a rank";
}

bool counts_as_reason(const JobLines& lines, const JobLine& line, const std::set<int>& victims) {
  if (is_consequence(line)) return false;
  if (line.event != JobEvent::kEndedNormally) return true;
  // one that ended well is to blame only while others wait and it did not
  const bool others_wait = lines.first(JobEvent::kTimeout) != nullptr;
  return others_wait && line.rank && !victims.contains(*line.rank);
}

std::optional<HangVerdict> from_reason(const JobLines& lines, JobEvent event,
                                       const std::set<int>& victims) {
  std::set<int> ranks;
  const JobLine* shown = nullptr;
  for (const JobLine* line : lines.of(event)) {
    if (!counts_as_reason(lines, *line, victims)) continue;
    if (line->rank) ranks.insert(*line->rank);
    if (line->ranks.size() > 1 && line->code.value_or(1) != 1)
      ranks.insert(line->ranks.begin(), line->ranks.end());
    if (shown == nullptr || (!shown->rank && line->rank)) shown = line;
  }
  if (shown == nullptr) return std::nullopt;
  HangVerdict verdict =
      verdict_of(HangKind::kRankDeadOrStuck,
                 fmt::format("{}: {}", who_text(ranks, *shown), reason_text(*shown)), *shown);
  verdict.culprits = {ranks.begin(), ranks.end()};
  verdict.seq.reset();
  verdict.is_code = is_code(*shown);
  verdict.next = {"the log and dmesg of the host of this rank"};
  return verdict;
}

// A kernel or a step line that names no rank says how the process ended that the launcher names.
std::optional<HangVerdict> from_reasons(const JobLines& lines) {
  const std::set<int> victims = victim_ranks(lines);
  std::optional<HangVerdict> nameless;
  for (const JobEvent event : reasons()) {
    auto verdict = from_reason(lines, event, victims);
    if (!verdict) continue;
    if (!verdict->culprits.empty()) {
      if (nameless) {
        verdict->summary += "; " + nameless->summary;
        verdict->evidence.push_back(nameless->evidence.front());
      }
      return verdict;
    }
    if (!nameless) nameless = std::move(verdict);
  }
  return nameless;
}

std::optional<HangVerdict> from_completions(const JobLines& lines) {
  const JobLine* line = lines.first(JobEvent::kNcclCompletion);
  if (line == nullptr) return std::nullopt;
  std::string what = job_event_name(line->event);
  if (line->code) what += fmt::format(" {}", *line->code);
  if (line->rank) what += fmt::format(" on rank {}", *line->rank);
  if (!line->host.empty()) what += ", peer " + line->host;
  if (!line->what.empty()) what += ", adapter " + line->what;
  HangVerdict verdict = verdict_of(HangKind::kNetworkOrHardware, what, *line);
  verdict.seq.reset();
  verdict.next = {"ibstat and the switch port of both hosts; NCCL_IB_TIMEOUT and retries",
                  "comm-probe topo check on both hosts"};
  return verdict;
}

// A time-out ends processes, and their peers lose connections: only an error before it is a cause.
bool came_before_timeouts(const JobLines& lines) {
  std::optional<double> error, timeout;
  for (const JobLine& line : lines.lines) {
    if (!line.clock_s) continue;
    auto& first = line.event == JobEvent::kTimeout ? timeout : error;
    if (line.event != JobEvent::kTimeout && line.event != JobEvent::kAsyncError) continue;
    if (!first || *line.clock_s < *first) first = line.clock_s;
  }
  if (lines.first(JobEvent::kTimeout) == nullptr) return true;
  return error && timeout && *error < *timeout;
}

// "remote process exited or there was a network error": the ranks that print it are victims. A rank
// whose log ends without any such line is the one that went, if it is the only one.
std::optional<HangVerdict> from_lost_peers(const JobLines& lines) {
  std::set<int> victims;
  const JobLine* shown = nullptr;
  for (const JobEvent event : {JobEvent::kAsyncError, JobEvent::kNcclConnection})
    for (const JobLine* line : lines.of(event)) {
      if (line->rank) victims.insert(*line->rank);
      if (shown == nullptr) shown = line;
    }
  if (shown == nullptr || !came_before_timeouts(lines)) return std::nullopt;
  const std::vector<int> quiet = quiet_ranks(lines);
  const bool is_alone = quiet.size() == 1 && victims.size() > 1;
  std::string summary =
      fmt::format("{} told that a peer process has gone, or the network has failed",
                  victims.empty() ? std::string("a rank was")
                                  : ranks_text({victims.begin(), victims.end()}) +
                                        (victims.size() == 1 ? " was" : " were"));
  if (!quiet.empty())
    summary += fmt::format("; the log{} of {} end{} without an error", quiet.size() == 1 ? "" : "s",
                           ranks_text(quiet), quiet.size() == 1 ? "s" : "");
  HangVerdict verdict =
      verdict_of(is_alone ? HangKind::kRankDeadOrStuck : HangKind::kNotDecidable, summary, *shown);
  verdict.seq.reset();
  verdict.op.clear();
  if (is_alone) verdict.culprits = quiet;
  if (!is_alone)
    verdict.alternatives.push_back({HangKind::kRankDeadOrStuck, {}, "which process ended first?"});
  verdict.alternatives.push_back({HangKind::kNetworkOrHardware,
                                  {},
                                  "do all processes of the job still run? NCCL WARN lines, dmesg"});
  verdict.victims = {victims.begin(), victims.end()};
  verdict.next = {"whose log ends first, and with which exit code? the launcher's log, dmesg",
                  "Flight Recorder dumps of all ranks"};
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

// Groups that timed out, one clause each.
std::string timeouts_text(const std::map<std::string, Reports>& groups) {
  constexpr std::size_t kMostGroups = 4;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [group, reports] : groups) {
    if (shown++ == kMostGroups)
      return text + fmt::format("; {} more groups", groups.size() - kMostGroups);
    std::vector<int> ranks;
    for (const Report& report : reports) ranks.push_back(report.rank);
    std::sort(ranks.begin(), ranks.end());
    text += fmt::format("{}{} in call {}{} ({})", text.empty() ? "" : ", ", ranks_text(ranks),
                        *reports.front().line->seq, group.empty() ? "" : " of group " + group,
                        report_text(*reports.front().line));
  }
  return text;
}

// Everybody says the same; who says nothing?
HangVerdict all_agree(const JobLines& lines, const std::map<std::string, Reports>& groups) {
  const Reports& most =
      std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      })->second;
  std::set<int> waiting;
  for (const auto& [group, reports] : groups)
    for (const Report& report : reports) waiting.insert(report.rank);
  const std::set<int> victims = victim_ranks(lines);
  std::vector<int> silent;
  for (const auto& [rank, file] : lines.logs)
    if (!waiting.contains(rank) && !victims.contains(rank)) silent.push_back(rank);
  HangVerdict verdict = verdict_of(
      HangKind::kNotDecidable,
      "timed out: " + timeouts_text(groups) + "; the lines of a group show no difference",
      *most.front().line);
  verdict.victims = {waiting.begin(), waiting.end()};
  verdict.confidence = Confidence::kPossible;
  const bool is_alone = silent.size() == 1 && waiting.size() > 1;
  if (!silent.empty())
    verdict.summary += fmt::format("; {} printed no time-out of {}", ranks_text(silent),
                                   silent.size() == 1 ? "its own" : "their own");
  if (is_alone) {
    verdict.kind = HangKind::kRankDeadOrStuck;
    verdict.culprits = silent;
    verdict.seq.reset();
    verdict.op.clear();
  } else if (!silent.empty()) {
    verdict.alternatives.push_back(
        {HangKind::kRankDeadOrStuck, {}, "py-spy on " + ranks_text(silent)});
  } else {
    verdict.alternatives.push_back(
        {HangKind::kRankDeadOrStuck, {}, "the logs of ranks that are not given"});
  }
  verdict.alternatives.push_back(
      {HangKind::kNetworkOrHardware, {}, "NCCL_DEBUG=WARN lines, dmesg"});
  verdict.next = {"Flight Recorder: TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"};
  return verdict;
}

// Lines that tell of trouble and of no cause: a dump signal from another rank, a gloo time-out.
std::optional<HangVerdict> from_trouble(const JobLines& lines) {
  if (!lines.tell_of_trouble()) return std::nullopt;
  const JobLine* shown = nullptr;
  std::set<int> ranks;
  std::optional<int> peer;
  for (const JobLine& line : lines.lines) {
    if (!is_trouble(line.event)) continue;
    if (shown == nullptr) shown = &line;
    if (line.rank) ranks.insert(*line.rank);
    if (line.event == JobEvent::kDumpSignal && line.peer && !peer) peer = line.peer;
  }
  HangVerdict verdict = verdict_of(
      HangKind::kNotDecidable,
      fmt::format("{}: {}", ranks.empty() ? "a log" : ranks_text({ranks.begin(), ranks.end()}),
                  job_event_name(shown->event)),
      *shown);
  if (peer)
    verdict.summary = fmt::format(
        "{} told to dump by rank {}, which timed out; no line of the given logs says who holds it "
        "back",
        ranks_text({ranks.begin(), ranks.end()}) + (ranks.size() == 1 ? " was" : " were"), *peer);
  verdict.seq.reset();
  verdict.alternatives = {{HangKind::kRankDeadOrStuck, {}, "the logs and dumps of all ranks"}};
  verdict.next = {"give the logs of all ranks, and their Flight Recorder dumps"};
  return verdict;
}

// A log that is not there could tell of a hang.
std::vector<int> ranks_without_log(const JobLines& lines) {
  std::vector<int> missing;
  if (lines.logs.empty()) return missing;
  for (int rank = 0; rank < lines.logs.rbegin()->first && missing.size() < 65536; ++rank)
    if (!lines.logs.contains(rank)) missing.push_back(rank);
  return missing;
}

}  // namespace

HangJudgement judge_logs(const JobLines& lines) {
  HangJudgement judgement;
  const auto groups = reports_by_group(lines);
  std::optional<HangVerdict> verdict = from_fingerprints(lines);
  for (const auto& [group, reports] : groups)
    if (!verdict) verdict = from_reports(group, reports);
  for (const auto source : {from_progress, from_desync, from_reasons, from_ras, from_completions,
                            from_lost_peers, from_store})
    if (!verdict) verdict = source(lines);
  if (!verdict && !groups.empty()) verdict = all_agree(lines, groups);
  if (!verdict) verdict = from_trouble(lines);
  judgement.verdict = verdict.value_or(HangVerdict{});
  if (judgement.verdict.kind != HangKind::kHealthy) return judgement;
  judgement.verdict.summary = "no line of the logs tells of a hang";
  const auto missing = ranks_without_log(lines);
  if (!missing.empty())
    judgement.caveats.push_back(core::make_caveat(
        "hang.log-missing", "logs of " + ranks_text(missing), "what they say is not known"));
  return judgement;
}

}  // namespace comm_probe::diagnose
