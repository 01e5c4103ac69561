#include "torch/activity.h"

#include <algorithm>
#include <functional>

#include "torch/trace.h"

namespace comm_probe::torch {

namespace {

// Of every name; kernels are some hundred times as many as names.
std::vector<std::uint64_t> hashes_of(const NameTable& names) {
  std::vector<std::uint64_t> hashes;
  for (NameId name = 0; name < names.size(); ++name)
    hashes.push_back(std::hash<std::string_view>{}(names.text(name)));
  return hashes;
}

void add_work(const GpuOp& op, std::uint64_t hash, KernelWork& work) {
  ++work.kernels;
  work.names += hash;
  work.time += op.duration();
}

void add_steps(const Trace& trace, RankActivity& activity) {
  const auto hashes = hashes_of(trace.names);
  for (const GpuOp& op : trace.gpu_ops) {
    const std::int64_t step = op.step == kNone ? -1 : trace.steps[op.step].number;
    if (step >= 0) {
      const auto extent = activity.steps.emplace(step, std::pair(op.start, op.end)).first;
      extent->second.first = std::min(extent->second.first, op.start);
      extent->second.second = std::max(extent->second.second, op.end);
    }
    if (op.kind != GpuKind::kCompute) continue;
    std::uint64_t hash = hashes[op.name];
    if (op.shape != kNone)
      for (const std::int32_t size : trace.shapes[op.shape].grid)
        hash = hash * 1099511628211ULL + static_cast<std::uint64_t>(size);
    add_work(op, hash, activity.work[-1]);
    if (step >= 0) add_work(op, hash, activity.work[step]);
  }
}

}  // namespace

BusyTime::BusyTime(Intervals intervals) : merged_(unite(std::move(intervals))) {
  std::int64_t sum = 0;
  for (const Interval& one : merged_) {
    before_.push_back(sum);
    sum += one.length();
  }
}

std::int64_t BusyTime::until(std::int64_t time) const {
  const auto next = std::upper_bound(
      merged_.begin(), merged_.end(), time,
      [](std::int64_t value, const Interval& interval) { return value < interval.start; });
  if (next == merged_.begin()) return 0;
  const auto at = static_cast<std::size_t>(next - merged_.begin()) - 1;
  return before_[at] + std::min(time, merged_[at].end) - merged_[at].start;
}

std::int64_t BusyTime::within(std::int64_t from, std::int64_t to) const {
  return to <= from ? 0 : until(to) - until(from);
}

WindowParts& WindowParts::operator+=(const WindowParts& other) {
  compute += other.compute;
  communication += other.communication;
  memory += other.memory;
  idle += other.idle;
  return *this;
}

WindowParts RankActivity::parts(std::int64_t from, std::int64_t to) const {
  if (to <= from) return {};
  WindowParts parts;
  const std::int64_t either = compute_or_communication.within(from, to);
  const std::int64_t all = any.within(from, to);
  parts.compute = compute.within(from, to);
  parts.communication = either - parts.compute;
  parts.memory = all - either;
  parts.idle = to - from - all;
  return parts;
}

std::int64_t RankActivity::span(std::int64_t step) const {
  if (step < 0) return end - start;
  const auto found = steps.find(step);
  return found == steps.end() ? 0 : found->second.second - found->second.first;
}

KernelWork RankActivity::work_in(std::int64_t step) const {
  const auto found = work.find(step);
  return found == work.end() ? KernelWork{} : found->second;
}

RankActivity activity_of(const Trace& trace) {
  RankActivity activity{.rank = trace.rank.value_or(0)};
  Intervals compute;
  Intervals either;
  Intervals all;
  for (const GpuOp& op : trace.gpu_ops) {
    const Interval interval{op.start, op.end};
    if (op.kind == GpuKind::kCompute) compute.push_back(interval);
    if (op.kind == GpuKind::kCompute || op.kind == GpuKind::kCommunication)
      either.push_back(interval);
    all.push_back(interval);
  }
  if (!all.empty()) {
    activity.start = all.front().start;
    activity.end = all.front().end;
  }
  for (const Interval& one : all) {
    activity.start = std::min(activity.start, one.start);
    activity.end = std::max(activity.end, one.end);
  }
  add_steps(trace, activity);
  activity.compute = BusyTime(std::move(compute));
  activity.compute_or_communication = BusyTime(std::move(either));
  activity.any = BusyTime(std::move(all));
  return activity;
}

}  // namespace comm_probe::torch
