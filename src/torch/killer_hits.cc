#include "torch/killer_hits.h"

#include <algorithm>

#include "torch/killer_limits.h"

namespace comm_probe::torch {

DeviceTime::DeviceTime(const Trace& trace) {
  for (const GpuOp& op : trace.gpu_ops) {
    const Interval interval{op.start, op.end};
    if (op.kind == GpuKind::kCompute) {
      compute.push_back(interval);
      compute_starts.push_back(op.start);
    }
    if (op.kind == GpuKind::kCommunication) communication.push_back(interval);
    any.push_back(interval);
    extent.end = std::max(extent.end, op.end);
  }
  if (!any.empty()) extent.start = any.front().start;
  compute = unite(std::move(compute));
  communication = unite(std::move(communication));
  any = unite(std::move(any));
}

std::int64_t DeviceTime::next_compute(std::int64_t time) const {
  const auto next = std::lower_bound(compute_starts.begin(), compute_starts.end(), time);
  return next == compute_starts.end() ? std::max(time, extent.end) : *next;
}

LostTime DeviceTime::lost_in(Intervals intervals) const {
  const Intervals lost = subtract(clip(unite(std::move(intervals)), extent), compute);
  LostTime time;
  time.communication = shared_length(lost, communication);
  const std::int64_t busy = shared_length(lost, any);
  time.memory = busy - time.communication;
  time.idle = length(lost) - busy;
  return time;
}

namespace {

std::int64_t median_of(std::vector<std::int64_t> figures) {
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::nth_element(figures.begin(), middle, figures.end());
  return *middle;
}

// Of this name, the first of each later step: a rank that is late in every step makes them long,
// too, and then the first of all is nothing special.
std::vector<std::int64_t> firsts_of_later_steps(const Trace& trace, const GpuOp& first) {
  std::vector<std::int64_t> durations;
  std::uint32_t step = first.step;
  for (const GpuOp& op : trace.gpu_ops) {
    const bool is_like = op.kind == GpuKind::kCommunication && op.name == first.name;
    if (!is_like || op.step == kNone || op.step <= step) continue;
    durations.push_back(op.duration());
    step = op.step;
  }
  return durations;
}

}  // namespace

std::optional<LongEntry> long_entry(const Trace& trace) {
  constexpr std::size_t kLeastOthers = 4;
  constexpr std::size_t kLeastSteps = 2;
  const auto is_communication = [](const GpuOp& op) { return op.kind == GpuKind::kCommunication; };
  const auto first = std::find_if(trace.gpu_ops.begin(), trace.gpu_ops.end(), is_communication);
  if (first == trace.gpu_ops.end()) return std::nullopt;
  std::vector<std::int64_t> others;
  for (auto op = std::next(first); op != trace.gpu_ops.end(); ++op)
    if (is_communication(*op) && op->name == first->name) others.push_back(op->duration());
  if (others.size() < kLeastOthers) return std::nullopt;
  std::int64_t usual = median_of(std::move(others));
  if (first->step != kNone)
    if (const auto firsts = firsts_of_later_steps(trace, *first); firsts.size() >= kLeastSteps)
      usual = std::max(usual, median_of(firsts));
  if (static_cast<double>(first->duration()) <
      kKillerLimits.first_far_longer * static_cast<double>(usual))
    return std::nullopt;
  return LongEntry{static_cast<std::uint32_t>(first - trace.gpu_ops.begin()), usual};
}

void KillerHits::price(const DeviceTime& time, const Intervals& without) {
  Intervals all;
  all.reserve(hits.size());
  for (const KillerHit& hit : hits) all.push_back(hit.lost);
  lost = time.lost_in(subtract(unite(std::move(all)), without));
}

std::int64_t step_of(const Trace& trace, const KillerHit& hit) {
  std::uint32_t step = hit.step;
  if (step == kNone && hit.gpu_op != kNone) step = trace.gpu_ops[hit.gpu_op].step;
  if (step == kNone && hit.call != kNone) step = step_of_host(trace, trace.calls[hit.call].start);
  return step == kNone ? -1 : trace.steps[step].number;
}

std::map<std::int64_t, std::size_t> hits_per_step(const Trace& trace, const KillerHits& hits) {
  std::map<std::int64_t, std::size_t> counts;
  for (const KillerHit& hit : hits.hits) ++counts[step_of(trace, hit)];
  return counts;
}

}  // namespace comm_probe::torch
