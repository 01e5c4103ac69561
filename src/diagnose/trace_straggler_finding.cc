// How a straggler is put into words.
#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/trace_straggler.h"
#include "torch/host_gap.h"

namespace comm_probe::diagnose {
namespace {

using core::Duration;
using torch::AcrossRanks;

constexpr std::size_t kExamples = 3;
constexpr double kGapExplains = 0.5;           // of how late it came
constexpr std::int64_t kQueueEmpty = 100'000;  // ns from launch to start: nothing was queued

std::string text(std::int64_t ns) {
  return core::format_duration(Duration::from_ns(static_cast<double>(ns)));
}
double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}
const torch::Trace& trace_of(const AcrossRanks& across, const Straggler& one) {
  return *across.traces[static_cast<std::size_t>(one.rank)];
}

// How much longer the compute of the rank is than the median of the others, in percent.
std::string compute_line(const AcrossRanks& across, const Straggler& one) {
  const auto own = across.activities[static_cast<std::size_t>(one.rank)].work_in(one.step);
  std::vector<std::int64_t> others;
  for (std::size_t rank = 0; rank < across.activities.size(); ++rank)
    if (static_cast<int>(rank) != one.rank)
      others.push_back(across.activities[rank].work_in(one.step).time);
  std::sort(others.begin(), others.end());
  const std::int64_t usual = others[(others.size() - 1) / 2];
  const bool same = one.kind == LateKind::kSlowCompute;
  return fmt::format("{} {} compute kernels take {}, {} more than the {} of the others (median)",
                     same ? "the same" : "its", own.kernels, text(own.time),
                     core::format_percent(share(own.time - usual, usual)), text(usual));
}

std::string host_line(const Straggler& one) {
  const torch::Lateness& why = one.why;
  std::string line =
      fmt::format("its GPU idles {} more than the others, compute is equal", text(why.more().idle));
  if (why.launch_delay > 0 && why.launch_delay < kQueueEmpty)
    line += fmt::format("; its kernels start {} after their launch, so nothing was queued",
                        text(why.launch_delay));
  return line;
}

std::optional<torch::HostGap> gap_of(const AcrossRanks& across, const Straggler& one) {
  if (one.kind != LateKind::kHost || one.why.worst_launch == 0) return std::nullopt;
  auto gap =
      torch::longest_host_gap(trace_of(across, one), one.why.worst_before, one.why.worst_launch);
  const double late = static_cast<double>(one.why.arrival);
  if (gap && static_cast<double>(gap->length()) < kGapExplains * late) return std::nullopt;
  return gap;
}

std::string gap_line(const torch::Trace& trace, const torch::HostGap& gap) {
  const std::int64_t origin = trace.gpu_ops.empty() ? gap.from : trace.gpu_ops.front().start;
  return fmt::format("its host made no CUDA call for {} (from {} after the first GPU work on){}",
                     text(gap.length()), text(gap.from - origin),
                     gap.during.empty() ? "" : ", inside " + gap.during);
}

std::string reason(const AcrossRanks& across, const Straggler& one,
                   const std::optional<torch::HostGap>& gap) {
  switch (one.kind) {
    case LateKind::kSlowCompute:
      return "its GPU computes slower: " + compute_line(across, one);
    case LateKind::kMoreWork:
      return "it computes more: " + compute_line(across, one);
    case LateKind::kHost:
      if (gap && gap->in_data_loader)
        return fmt::format("its data loader comes late ({} without a CUDA call)",
                           text(gap->length()));
      if (gap)
        return fmt::format("its host comes late: {} without a CUDA call", text(gap->length()));
      return "its host launches late: " + host_line(one);
    case LateKind::kMemory:
      return fmt::format("it copies {} longer than the others", text(one.why.more().memory));
    case LateKind::kUpstream:
      return fmt::format("it spends {} more in collectives of other groups",
                         text(one.why.more().communication));
    case LateKind::kUnknown:
      break;
  }
  return "why is not in its trace";
}

// The collectives of this rank in which the others waited longest.
std::vector<core::Evidence> examples(const AcrossRanks& across, const Straggler& one) {
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < across.waits.meetings.size(); ++i) {
    const auto& times = across.waits.meetings[i];
    if (times.shortest != one.rank || times.together || times.excused) continue;
    if (one.step >= 0 && torch::step_of(across.job, across.matching.meetings[i]) != one.step)
      continue;
    late.push_back(i);
  }
  std::stable_sort(late.begin(), late.end(), [&](std::size_t first, std::size_t second) {
    return across.waits.meetings[first].wait > across.waits.meetings[second].wait;
  });
  late.resize(std::min(late.size(), kExamples));
  std::vector<core::Evidence> lines;
  for (const std::size_t i : late)
    lines.push_back({across.traces.empty() ? "" : trace_of(across, one).file, std::nullopt,
                     meeting_line(across, i)});
  return lines;
}

std::vector<std::string> next_of(const AcrossRanks& across, const Straggler& one,
                                 const std::optional<torch::HostGap>& gap) {
  const int rank = across.rank_number(one.rank);
  switch (one.kind) {
    case LateKind::kSlowCompute:
      return {fmt::format("nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER  # host of rank {}",
                          rank),
              "dcgmi diag -r 2  # there, when the job is gone"};
    case LateKind::kMoreWork:
      return {
          fmt::format("compare the input of rank {} (sequence lengths, tokens per expert, "
                      "stage) with that of another rank",
                      rank)};
    case LateKind::kHost:
      return {gap ? fmt::format("open {} where the gap is: what runs on the host there? "
                                "with_stack=True records it",
                                trace_of(across, one).file)
                  : fmt::format("comm-probe trace {}  # what blocks its host",
                                trace_of(across, one).file),
              fmt::format("py-spy dump --pid PID  # of rank {}, while it runs", rank)};
    case LateKind::kMemory:
    case LateKind::kUpstream:
    case LateKind::kUnknown:
      break;
  }
  if (across.traces.empty())
    return {
        fmt::format("record a PyTorch profiler trace of rank {} and another one, then "
                    "comm-probe trace",
                    rank)};
  return {fmt::format("comm-probe trace {}", trace_of(across, one).file)};
}

// ", mostly in step 12" where that step holds nearly all of it.
std::string where_of(const Straggler& one, const std::vector<Straggler>& stragglers) {
  constexpr double kNearlyAll = 0.8;
  if (one.step >= 0) return fmt::format(" in step {}", one.step);
  for (const Straggler& other : stragglers)
    if (other.rank == one.rank && other.step >= 0 &&
        static_cast<double>(other.blamed) > kNearlyAll * static_cast<double>(one.blamed))
      return fmt::format(", mostly in step {}", other.step);
  return "";
}

core::Finding finding_of(const AcrossRanks& across, const Straggler& one,
                         const std::vector<Straggler>& stragglers) {
  const int rank = across.rank_number(one.rank);
  const auto gap = across.traces.empty() ? std::nullopt : gap_of(across, one);
  core::Finding finding = core::make_finding(
      "trace.straggler",
      fmt::format("rank {} makes the others wait{}: {} of waiting ({} of all{}), last in {} of {} "
                  "collectives; {}",
                  rank, where_of(one, stragglers), text(one.blamed),
                  core::format_percent(share(one.blamed, one.all_waiting), 2),
                  one.rank_time > 0
                      ? ", " + core::format_percent(share(one.blamed, one.rank_time), 2) +
                            " of the time of all ranks"
                      : "",
                  one.last_in, one.meetings,
                  across.traces.empty() ? "the log does not show why" : reason(across, one, gap)));
  finding.ranks = {rank};
  finding.observed =
      core::figure(Duration::from_ns(static_cast<double>(one.blamed)), core::Basis::kMeasured,
                   "waiting that it caused, but for its first collective");
  finding.evidence = examples(across, one);
  if (gap)
    finding.evidence.push_back(
        {trace_of(across, one).file, std::nullopt, gap_line(trace_of(across, one), *gap)});
  finding.confidence = one.kind == LateKind::kUnknown && !across.traces.empty()
                           ? core::Confidence::kPossible
                           : core::Confidence::kLikely;
  if (one.kind == LateKind::kSlowCompute) finding.layer = core::Layer::kHardware;
  finding.next = next_of(across, one, gap);
  return finding;
}

}  // namespace

bool is_late_by_its_host(const AcrossRanks& across, const Straggler& one) {
  return !across.traces.empty() && gap_of(across, one).has_value();
}

std::string meeting_line(const AcrossRanks& across, std::size_t index) {
  const torch::Meeting& meeting = across.matching.meetings[index];
  const torch::MeetingTimes& times = across.waits.meetings[index];
  const torch::CommCall& call = torch::call_of(across.job, meeting.present.front());
  const auto longest = std::max_element(
      meeting.present.begin(), meeting.present.end(),
      [](const auto& one, const auto& other) { return one.duration < other.duration; });
  std::string line = torch::class_name(call.kind);
  if (call.bytes && *call.bytes > 0)
    line += " of " + core::format_bytes(core::Bytes::of(*call.bytes));
  if (call.seq) line += fmt::format(", seq {}", *call.seq);
  if (const auto step = torch::step_of(across.job, meeting); step >= 0)
    line += fmt::format(", step {}", step);
  return line + fmt::format(": {} on rank {}, {} on rank {}, {} of waiting in all",
                            text(times.transfer), across.rank_number(times.shortest),
                            text(longest->duration), across.rank_number(longest->rank),
                            text(times.wait));
}

Judgement judge_stragglers(const AcrossRanks& across, const std::vector<Straggler>& stragglers) {
  Judgement judgement;
  std::vector<int> named;
  for (const Straggler& one : stragglers) {
    if (std::find(named.begin(), named.end(), one.rank) != named.end()) continue;
    named.push_back(one.rank);
    judgement.findings.push_back(finding_of(across, one, stragglers));
  }
  return judgement;
}

}  // namespace comm_probe::diagnose
