#include "torch/steps.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace comm_probe::torch {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

bool is_step(const Trace& trace, const HostOp& op, const StepRule& rule) {
  if (!rule.is_step) return op.kind == HostKind::kStep;
  return op.kind != HostKind::kCollective && rule.is_step(trace.names.text(op.name));
}

// The same range may be written twice (cpu_op and user_annotation), and steps do not overlap.
void add_step(Trace& trace, const HostOp& op) {
  if (!trace.steps.empty() && op.start < trace.steps.back().end) return;
  const auto count = static_cast<std::int64_t>(trace.steps.size());
  trace.steps.push_back({op.start, op.end, step_number(trace.names.text(op.name)).value_or(count),
                         op.name, op.thread});
}

void place_unlaunched(Trace& trace) {
  const auto windows = device_windows(trace);
  std::vector<std::pair<std::int64_t, std::uint32_t>> starts;
  for (std::uint32_t i = 0; i < windows.size(); ++i)
    if (windows[i].length() > 0) starts.emplace_back(windows[i].start, i);
  std::sort(starts.begin(), starts.end());
  for (GpuOp& op : trace.gpu_ops) {
    if (op.launch != kNone) continue;
    const std::int64_t middle = op.start + op.duration() / 2;
    const auto behind = std::upper_bound(starts.begin(), starts.end(), std::pair{middle, kNone});
    if (behind == starts.begin()) continue;
    const std::uint32_t step = std::prev(behind)->second;
    if (middle < windows[step].end) op.step = step;
  }
}

}  // namespace

std::uint32_t step_of_host(const Trace& trace, std::int64_t time) {
  auto step =
      std::upper_bound(trace.steps.begin(), trace.steps.end(), time,
                       [](std::int64_t wanted, const Step& one) { return wanted < one.start; });
  if (step == trace.steps.begin()) return kNone;
  --step;
  return time < step->end ? static_cast<std::uint32_t>(step - trace.steps.begin()) : kNone;
}

void find_steps(Trace& trace, const StepRule& rule) {
  trace.steps.clear();
  for (const HostOp& op : trace.host_ops)
    if (is_step(trace, op, rule)) add_step(trace, op);
  for (GpuOp& op : trace.gpu_ops)
    op.step = op.launch == kNone ? kNone : step_of_host(trace, trace.calls[op.launch].start);
  if (trace.steps.empty()) return;
  place_unlaunched(trace);
  trace.steps.front().is_edge = true;
  trace.steps.back().is_edge = true;
}

std::vector<Interval> device_windows(const Trace& trace) {
  std::vector<Interval> windows(trace.steps.size(), {kNever, kNever});
  std::int64_t last_end = 0;
  for (const GpuOp& op : trace.gpu_ops) {
    if (op.step == kNone) continue;
    windows[op.step].start = std::min(windows[op.step].start, op.start);
    last_end = std::max(last_end, op.end);
  }
  std::int64_t next = last_end;
  for (std::size_t i = windows.size(); i-- > 0;) {
    if (windows[i].start == kNever) {
      windows[i] = {};
      continue;
    }
    windows[i].end = std::max(next, windows[i].start);
    next = windows[i].start;
  }
  return windows;
}

}  // namespace comm_probe::torch
