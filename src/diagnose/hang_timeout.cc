#include "diagnose/hang_timeout.h"

#include <fmt/format.h>

#include "diagnose/hang_state.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;

namespace {

struct Timer {
  JobEvent event;
  const char* name;
  const char* limit;  // where the line does not tell it
};
constexpr Timer kTimers[] = {
    {JobEvent::kAsyncError, "communicator error", "none: at once"},
    {JobEvent::kTimeout, "op timeout", "600 s unless the group says otherwise"},
    {JobEvent::kHeartbeatLost, "heartbeat", "480 s (600 s before PyTorch 2.5)"},
    {JobEvent::kNcclCompletion, "InfiniBand retries", "7 x 4.3 s = 30 s by default"},
    {JobEvent::kGlooTimeout, "gloo", "1800 s by default"},
    {JobEvent::kStoreWait, "store", "the time-out of init_process_group"},
};

std::string seconds(double value) { return fmt::format("{:.4g} s", value); }

FiredTimer fired(const Timer& timer, const JobLine& line) {
  FiredTimer made{timer.name, timer.limit, "", {line.file, line.line, line.text}};
  if (line.limit_ms) made.limit = seconds(static_cast<double>(*line.limit_ms) / 1000);
  made.what = line.clock_s ? "first seen" : "seen";  // without a clock: the first file
  if (line.rank) made.what += fmt::format(" on rank {}", *line.rank);
  if (line.seq) made.what += fmt::format(": {} {}", line.op, *line.seq);
  if (line.ran_ms) made.what += ", after " + seconds(static_cast<double>(*line.ran_ms) / 1000);
  if (line.code) made.what += fmt::format(", status {}", *line.code);
  return made;
}

// The oldest call that somebody waits in.
void find_beginning(const HangJudgement& judgement, const torch::Job& job, TimeoutStory& story) {
  const HangState state(job);
  for (const int rank : judgement.verdict.victims) {
    const Head* head = state.head(rank);
    if (head == nullptr || head->work->created_ns == 0) continue;
    if (story.stall_began_ns && *story.stall_began_ns <= head->work->created_ns) continue;
    story.stall_began_ns = head->work->created_ns;
    story.stall_rank = rank;
  }
}

// By the clocks of the lines, where they have one.
const JobLine* earliest(const JobLines& lines, JobEvent event) {
  const JobLine* best = nullptr;
  for (const JobLine* line : lines.of(event))
    if (best == nullptr || (line->clock_s && (!best->clock_s || *line->clock_s < *best->clock_s)))
      best = line;
  return best;
}

// An error that a communicator reported before any time-out is where it began.
std::string before_text(const JobLines& lines, const JobLine& timeout) {
  const JobLine* error = earliest(lines, JobEvent::kAsyncError);
  if (error == nullptr || !error->clock_s || !timeout.clock_s ||
      *error->clock_s >= *timeout.clock_s)
    return "";
  return fmt::format("; {} before that a communicator{} reported an error ({}:{})",
                     seconds(*timeout.clock_s - *error->clock_s),
                     error->rank ? fmt::format(" of rank {}", *error->rank) : "", error->file,
                     error->line);
}

void add_reasons(const torch::Job& job, const JobLines& lines, TimeoutStory& story) {
  const JobLine* timeout = earliest(lines, JobEvent::kTimeout);
  if (timeout != nullptr && timeout->ran_ms) {
    story.seconds_to_fire = static_cast<double>(*timeout->ran_ms) / 1000;
    story.why.push_back(fmt::format(
        "the watchdog counts from the enqueue: the call stood for {} before the first line was "
        "printed{}",
        seconds(*story.seconds_to_fire), before_text(lines, *timeout)));
  }
  if (timeout != nullptr && timeout->enqueued && timeout->seq && *timeout->enqueued > *timeout->seq)
    story.why.push_back("calls queued behind it time out too: their own lines say nothing new");
  if (lines.first(JobEvent::kHeartbeatLost) != nullptr && timeout == nullptr)
    story.why.push_back(
        "no op time-out was printed: the watchdog thread itself was stuck (GIL, a blocking CUDA "
        "call), "
        "so only the heartbeat could fire");
  if (lines.first(JobEvent::kNcclCompletion) != nullptr)
    story.why.push_back(
        "status 12 comes when the NIC has used up its retries; a lost packet shows nothing before");
  if (timeout == nullptr && story.timers.empty() && !job.digests.empty())
    story.why.push_back(
        lines.logs.empty()
            ? "no log was given: the logs of the ranks, beside the dumps, tell which timer fired"
            : "none of the given logs says that a timer fired");
}

}  // namespace

TimeoutStory explain_timeout(const HangJudgement& judgement, const torch::Job& job,
                             const JobLines& lines) {
  TimeoutStory story;
  for (const Timer& timer : kTimers)
    if (const JobLine* line = earliest(lines, timer.event))
      story.timers.push_back(fired(timer, *line));
  const bool is_moving =
      judgement.verdict.kind == HangKind::kHealthy || judgement.verdict.kind == HangKind::kSlow;
  if (!is_moving) find_beginning(judgement, job, story);
  add_reasons(job, lines, story);
  return story;
}

}  // namespace comm_probe::diagnose
