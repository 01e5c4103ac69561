#include "torch/launch_gaps.h"

#include <algorithm>

#include "torch/killer_limits.h"

namespace comm_probe::torch {
namespace {

std::int64_t launch_of(const Trace& trace, const GpuOp& op) {
  return op.launch == kNone ? op.start : trace.calls[op.launch].start;
}

// The gap in front of each op that ends one, with the op.
struct Gap {
  Interval time;
  std::uint32_t op;
};

std::vector<Gap> gaps_of(const Trace& trace) {
  std::vector<Gap> gaps;
  std::int64_t busy_until = trace.gpu_ops.empty() ? 0 : trace.gpu_ops.front().start;
  for (std::uint32_t i = 0; i < trace.gpu_ops.size(); ++i) {
    const GpuOp& op = trace.gpu_ops[i];
    if (op.start > busy_until) gaps.push_back({{busy_until, op.start}, i});
    busy_until = std::max(busy_until, op.end);
  }
  return gaps;
}

void count_launches(const Trace& trace, LaunchGaps& all) {
  std::vector<std::int64_t> busy_until(trace.streams.size(), 0);
  for (std::uint32_t i = 0; i < trace.gpu_ops.size(); ++i) {
    const GpuOp& op = trace.gpu_ops[i];
    std::int64_t& before = busy_until[op.stream];
    if (op.launch != kNone && trace.calls[op.launch].first_op == i) {
      ++all.launches;
      if (trace.calls[op.launch].start > before) ++all.into_empty;
    }
    before = std::max(before, op.end);
  }
}

}  // namespace

LaunchGaps launch_gaps(const Trace& trace, Intervals blocked) {
  blocked = unite(std::move(blocked));
  LaunchGaps all;
  Intervals away;
  for (const Gap& gap : gaps_of(trace)) {
    all.idle += gap.time.length();
    const GpuOp& op = trace.gpu_ops[gap.op];
    if (op.launch == kNone) continue;
    if (launch_of(trace, op) <= gap.time.start)
      all.queued += gap.time.length();
    else if (gap.time.length() > kKillerLimits.longest_launch_gap)
      away.push_back(gap.time);
    else
      all.host.hits.push_back({gap.time, gap.time, op.launch, gap.op, kNone});
  }
  all.away = length(subtract(away, blocked));
  Intervals host;
  for (const KillerHit& hit : all.host.hits) host.push_back(hit.lost);
  all.host.lost.idle = length(subtract(host, blocked));
  count_launches(trace, all);
  return all;
}

}  // namespace comm_probe::torch
