#include "torch/activity.h"

#include <algorithm>

#include "torch/trace.h"

namespace comm_probe::torch {

BusyTime::BusyTime(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  for (const Interval& one : intervals) {
    if (one.second <= one.first) continue;
    if (!merged_.empty() && one.first <= merged_.back().second)
      merged_.back().second = std::max(merged_.back().second, one.second);
    else
      merged_.push_back(one);
  }
  std::int64_t sum = 0;
  for (const Interval& one : merged_) {
    before_.push_back(sum);
    sum += one.second - one.first;
  }
}

std::int64_t BusyTime::until(std::int64_t time) const {
  const auto next = std::upper_bound(
      merged_.begin(), merged_.end(), time,
      [](std::int64_t value, const Interval& interval) { return value < interval.first; });
  if (next == merged_.begin()) return 0;
  const auto at = static_cast<std::size_t>(next - merged_.begin()) - 1;
  return before_[at] + std::min(time, merged_[at].second) - merged_[at].first;
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

RankActivity activity_of(const Trace& trace) {
  RankActivity activity{.rank = trace.rank.value_or(0)};
  std::vector<BusyTime::Interval> compute;
  std::vector<BusyTime::Interval> either;
  std::vector<BusyTime::Interval> all;
  for (const GpuOp& op : trace.gpu_ops) {
    const BusyTime::Interval interval(op.start, op.end);
    if (op.kind == GpuKind::kCompute) compute.push_back(interval);
    if (op.kind == GpuKind::kCompute || op.kind == GpuKind::kCommunication)
      either.push_back(interval);
    all.push_back(interval);
    if (op.step == kNone) continue;
    const auto step = activity.steps.emplace(trace.steps[op.step].number, interval).first;
    step->second.first = std::min(step->second.first, op.start);
    step->second.second = std::max(step->second.second, op.end);
  }
  if (!all.empty()) {
    activity.start = all.front().first;
    activity.end = all.front().second;
  }
  for (const BusyTime::Interval& one : all) {
    activity.start = std::min(activity.start, one.first);
    activity.end = std::max(activity.end, one.second);
  }
  activity.compute = BusyTime(std::move(compute));
  activity.compute_or_communication = BusyTime(std::move(either));
  activity.any = BusyTime(std::move(all));
  return activity;
}

}  // namespace comm_probe::torch
