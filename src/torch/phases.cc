#include "torch/phases.h"

#include <algorithm>

#include "torch/killer_hits.h"

namespace comm_probe::torch {
namespace {

bool holds(const Intervals& intervals, std::int64_t time) {
  const auto next =
      std::upper_bound(intervals.begin(), intervals.end(), time,
                       [](std::int64_t wanted, const Interval& one) { return wanted < one.start; });
  return next != intervals.begin() && time < std::prev(next)->end;
}

// Backward ranges of one step are one pass, unless the optimizer runs between them.
void add_backward(const Trace& trace, const HostOp& op, const Intervals& optimizer,
                  Intervals& passes) {
  if (!passes.empty()) {
    Interval& last = passes.back();
    const bool same_step = step_of_host(trace, last.start) == step_of_host(trace, op.start);
    const bool steps_between = std::any_of(
        optimizer.begin(), optimizer.end(),
        [&](const Interval& one) { return one.start >= last.end && one.end <= op.start; });
    if (op.start < last.end || (same_step && !steps_between)) {
      last.end = std::max(last.end, op.end);
      return;
    }
  }
  passes.push_back({op.start, op.end});
}

}  // namespace

Phases::Phases(const Trace& trace) : trace_(trace) {
  for (const HostOp& op : trace.host_ops)
    if (op.kind == HostKind::kOptimizer &&
        trace.names.text(op.name).find("zero_grad") == std::string_view::npos)
      optimizer_.push_back({op.start, op.end});
  optimizer_ = unite(std::move(optimizer_));
  for (const HostOp& op : trace.host_ops)
    if (op.kind == HostKind::kBackward) add_backward(trace, op, optimizer_, backward_);
}

Phase Phases::at(std::int64_t host_time) const {
  if (holds(optimizer_, host_time)) return Phase::kOptimizer;
  if (backward_.empty()) return Phase::kUnknown;
  if (holds(backward_, host_time)) return Phase::kBackward;
  const auto next =
      std::upper_bound(backward_.begin(), backward_.end(), host_time,
                       [](std::int64_t wanted, const Interval& one) { return wanted < one.start; });
  if (next == backward_.begin()) return Phase::kForward;
  const std::int64_t pass_end = std::prev(next)->end;
  const bool same_step = step_of_host(trace_, pass_end - 1) == step_of_host(trace_, host_time);
  const bool stepped = std::any_of(optimizer_.begin(), optimizer_.end(), [&](const Interval& one) {
    return one.start >= pass_end && one.end <= host_time;
  });
  return same_step && !stepped ? Phase::kTail : Phase::kForward;
}

Phase Phases::of(const GpuOp& op) const {
  return op.launch == kNone ? Phase::kUnknown : at(trace_.calls[op.launch].start);
}

}  // namespace comm_probe::torch
