#include "torch/stream_stalls.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "torch/by_design.h"
#include "torch/killer_limits.h"

namespace comm_probe::torch {
namespace {

std::uint32_t busiest_stream(const Trace& trace) {
  std::vector<std::int64_t> busy(trace.streams.size(), 0);
  for (const GpuOp& op : trace.gpu_ops)
    if (op.kind == GpuKind::kCompute) busy[op.stream] += op.duration();
  const auto most = std::max_element(busy.begin(), busy.end());
  return most == busy.end() || *most == 0 ? kNone : static_cast<std::uint32_t>(most - busy.begin());
}

// A wait of the compute stream: when the host queued it, and when the event it waits for was
// recorded at the earliest.
struct QueuedWait {
  std::int64_t recorded;
  std::int64_t queued;
};

class StallFinder {
 public:
  StallFinder(const Trace& trace, const Phases& phases, const DeviceTime& time);
  StreamStalls find();

 private:
  void collect_waits();
  void judge(std::uint32_t index);
  std::int64_t launch_of(const GpuOp& op) const;
  // The launch call has returned: work that starts as soon as it can does so soon behind it.
  std::int64_t launched_by(const GpuOp& op) const { return trace_.calls[op.launch].end; }
  // The first wait for `collective` that was queued before `until`.
  bool is_awaited(const GpuOp& collective, std::int64_t until) const;
  std::int64_t next_launch(std::int64_t behind) const;  // on the compute stream
  struct Stall {
    std::uint32_t woken;
    Interval interval;
  };
  std::optional<Stall> stall_of(const GpuOp& collective) const;
  bool is_tail(const GpuOp& woken) const;
  void add_same_stream(std::uint32_t index);
  void find_tails();

  const Trace& trace_;
  const Phases& phases_;
  const DeviceTime& time_;
  ByDesign by_design_;
  StreamStalls stalls_ = {};
  std::vector<std::uint32_t> compute_ops_ = {};  // on the compute stream, by start
  std::vector<std::int64_t> busy_until_ = {};    // latest end of those before each
  std::vector<std::int64_t> launches_ = {};      // of compute_ops_, sorted
  std::vector<std::int64_t> side_launches_ = {};
  // By waited stream (its number); one list under kNone where the trace has no rows.
  std::unordered_map<std::uint32_t, std::vector<QueuedWait>> waits_ = {};
};

StallFinder::StallFinder(const Trace& trace, const Phases& phases, const DeviceTime& time)
    : trace_(trace), phases_(phases), time_(time), by_design_(trace, phases) {
  stalls_.compute_stream = busiest_stream(trace);
  std::int64_t busy_until = 0;
  for (std::uint32_t i = 0; i < trace.gpu_ops.size(); ++i) {
    const GpuOp& op = trace.gpu_ops[i];
    if (op.stream == stalls_.compute_stream) {
      compute_ops_.push_back(i);
      busy_until_.push_back(busy_until);
      busy_until = std::max(busy_until, op.end);
      if (op.launch != kNone) launches_.push_back(launch_of(op));
    } else if (op.kind == GpuKind::kCommunication && op.launch != kNone) {
      side_launches_.push_back(launch_of(op));
    }
  }
  std::sort(launches_.begin(), launches_.end());
  std::sort(side_launches_.begin(), side_launches_.end());
  if (stalls_.compute_stream != kNone) collect_waits();
}

std::int64_t StallFinder::launch_of(const GpuOp& op) const { return trace_.calls[op.launch].start; }

void StallFinder::collect_waits() {
  std::unordered_map<std::uint64_t, std::int64_t> records;
  for (const HostCall& call : trace_.calls)
    if (call.kind == CallKind::kEventRecord) records.emplace(call.correlation, call.start);
  const std::int64_t compute = trace_.streams[stalls_.compute_stream].id;
  std::unordered_map<std::int64_t, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < trace_.streams.size(); ++i)
    numbers.emplace(trace_.streams[i].id, i);
  for (const SyncRow& row : trace_.syncs) {
    if (row.kind != SyncRow::Kind::kStreamWait) continue;
    stalls_.has_wait_rows = true;
    if (row.stream != compute || row.record_correlation < 0) continue;
    const auto waited = numbers.find(row.wait_on_stream);
    if (waited == numbers.end()) continue;
    const auto record = records.find(static_cast<std::uint64_t>(row.record_correlation));
    waits_[waited->second].push_back(
        {record == records.end() ? row.start : record->second, row.start});
  }
  if (!stalls_.has_wait_rows)
    for (const HostCall& call : trace_.calls)
      if (call.kind == CallKind::kStreamWait) waits_[kNone].push_back({call.start, call.start});
  for (auto& [stream, waits] : waits_) {
    std::sort(waits.begin(), waits.end(),
              [](const QueuedWait& a, const QueuedWait& b) { return a.recorded < b.recorded; });
    // From each on, the earliest that was queued.
    for (std::size_t i = waits.size(); i-- > 1;)
      waits[i - 1].queued = std::min(waits[i - 1].queued, waits[i].queued);
  }
}

bool StallFinder::is_awaited(const GpuOp& collective, std::int64_t until) const {
  const auto found = waits_.find(stalls_.has_wait_rows ? collective.stream : kNone);
  if (found == waits_.end()) return false;
  std::int64_t from = launch_of(collective);
  if (!stalls_.has_wait_rows) {
    // Which stream waits is not known: a call before another collective's launch belongs to that.
    const auto last = std::lower_bound(side_launches_.begin(), side_launches_.end(), until);
    if (last != side_launches_.begin()) from = std::max(from, *std::prev(last));
  }
  const auto first = std::lower_bound(
      found->second.begin(), found->second.end(), from,
      [](const QueuedWait& one, std::int64_t time) { return one.recorded < time; });
  return first != found->second.end() && first->queued < until;
}

std::int64_t StallFinder::next_launch(std::int64_t behind) const {
  const auto next = std::upper_bound(launches_.begin(), launches_.end(), behind);
  return next == launches_.end() ? INT64_MAX : *next;
}

std::optional<StallFinder::Stall> StallFinder::stall_of(const GpuOp& collective) const {
  const auto first = std::lower_bound(
      compute_ops_.begin(), compute_ops_.end(), collective.end - kKillerLimits.wakes_before,
      [this](std::uint32_t one, std::int64_t time) { return trace_.gpu_ops[one].start < time; });
  if (first == compute_ops_.end()) return std::nullopt;
  const GpuOp& woken = trace_.gpu_ops[*first];
  const std::int64_t free_since =
      busy_until_[static_cast<std::size_t>(first - compute_ops_.begin())];
  if (woken.start > collective.end + kKillerLimits.wakes_behind || woken.launch == kNone ||
      launched_by(woken) > collective.end - kKillerLimits.least_stall ||
      launch_of(woken) < launch_of(collective) ||
      free_since > collective.end - kKillerLimits.least_stall)
    return std::nullopt;
  return Stall{*first, {std::max(free_since, launch_of(woken)), collective.end}};
}

bool StallFinder::is_tail(const GpuOp& woken) const {
  const Phase phase = phases_.of(woken);
  return phase == Phase::kOptimizer || phase == Phase::kTail;
}

void StallFinder::judge(std::uint32_t index) {
  const GpuOp& collective = trace_.gpu_ops[index];
  ++stalls_.side_collectives;
  if (collective.launch == kNone) return;
  if (by_design_(collective)) {
    ++stalls_.design_collectives;
    return;
  }
  const std::int64_t next = next_launch(launch_of(collective));
  const bool is_direct = is_awaited(collective, next);
  const auto stall = stall_of(collective);
  const Interval at{collective.start, collective.end};
  const bool is_lost = stall && !is_tail(trace_.gpu_ops[stall->woken]);
  const bool has_wait = is_lost && is_awaited(collective, launch_of(trace_.gpu_ops[stall->woken]));
  // Without phases only a direct wait with a kernel behind it shows that there was more to compute.
  const bool had_work = phases_.known() || (is_direct && is_lost &&
                                            trace_.gpu_ops[stall->woken].kind == GpuKind::kCompute);
  const bool is_early = is_lost && has_wait && had_work;
  if (is_early || is_direct) {
    Interval lost = {collective.start, collective.start};
    if (is_early) lost = {std::max(stall->interval.start, collective.start), collective.end};
    stalls_.early_stalls += is_early ? 1 : 0;
    stalls_.early_wait.hits.push_back({at, lost, collective.launch, index, kNone});
  } else if (is_lost && !has_wait) {
    stalls_.hardware_queue.hits.push_back({at, stall->interval, collective.launch, index, kNone});
  }
}

void StallFinder::add_same_stream(std::uint32_t index) {
  const GpuOp& collective = trace_.gpu_ops[index];
  const Interval at{collective.start, collective.end};
  stalls_.same_stream.hits.push_back({at, at, collective.launch, index, kNone});
  const CollectiveCall* call = trace_.collective_of(collective);
  if (call != nullptr && call->is_async.value_or(false)) ++stalls_.same_stream_async;
  if (phases_.of(collective) == Phase::kBackward && !by_design_(collective) &&
      !by_design_.in_forward(collective))
    ++stalls_.same_stream_gradients;
}

void StallFinder::find_tails() {
  std::vector<std::pair<std::int64_t, std::int64_t>> launched;  // launch, end
  for (const std::uint32_t i : compute_ops_) {
    const GpuOp& op = trace_.gpu_ops[i];
    if (op.kind == GpuKind::kCompute && op.launch != kNone)
      launched.emplace_back(launch_of(op), op.end);
  }
  std::sort(launched.begin(), launched.end());
  Intervals gradients;
  for (const GpuOp& op : trace_.gpu_ops)
    if (op.kind == GpuKind::kCommunication && phases_.of(op) == Phase::kBackward)
      gradients.push_back({op.start, op.end});
  gradients = unite(std::move(gradients));
  std::size_t at = 0;
  for (const Interval& pass : phases_.backward()) {
    std::int64_t end = 0;
    while (at < launched.size() && launched[at].first < pass.start) ++at;
    for (; at < launched.size() && launched[at].first < pass.end; ++at)
      end = std::max(end, launched[at].second);
    const Interval tail{end, end == 0 ? 0 : time_.next_compute(end)};
    const std::int64_t exposed = length(subtract(clip(gradients, tail), time_.compute));
    if (exposed == 0) continue;
    stalls_.tail.hits.push_back(
        {tail, tail, kNone, kNone, kNone, step_of_host(trace_, pass.start)});
    stalls_.tail.lost.communication += exposed;
  }
}

StreamStalls StallFinder::find() {
  if (stalls_.compute_stream == kNone) return std::move(stalls_);
  for (std::uint32_t i = 0; i < trace_.gpu_ops.size(); ++i) {
    const GpuOp& op = trace_.gpu_ops[i];
    if (op.kind != GpuKind::kCommunication) continue;
    if (op.stream == stalls_.compute_stream)
      add_same_stream(i);
    else
      judge(i);
  }
  find_tails();
  for (KillerHits* list :
       {&stalls_.early_wait, &stalls_.hardware_queue, &stalls_.same_stream, &stalls_.tail})
    list->price(time_);
  return std::move(stalls_);
}

}  // namespace

StreamStalls stream_stalls(const Trace& trace, const Phases& phases, const DeviceTime& time) {
  return StallFinder(trace, phases, time).find();
}

}  // namespace comm_probe::torch
