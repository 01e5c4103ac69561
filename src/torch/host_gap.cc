#include "torch/host_gap.h"

#include <algorithm>

namespace comm_probe::torch {
namespace {

template <class Range>
bool covers(const Range& range, const HostGap& gap) {
  return range.start <= gap.from && range.end >= gap.to;
}

void name(const Trace& trace, HostGap& gap) {
  const HostOp* innermost = nullptr;
  for (const HostOp& op : trace.host_ops) {
    if (op.start > gap.from) break;  // sorted by start
    if (!covers(op, gap) || op.kind == HostKind::kStep) continue;
    innermost = &op;
    gap.in_data_loader |= op.kind == HostKind::kDataLoader;
  }
  const PythonFrame* frame = nullptr;
  for (const PythonFrame& one : trace.frames) {
    if (one.start > gap.from) break;
    if (covers(one, gap)) frame = &one;
  }
  if (frame != nullptr)
    gap.during = trace.names.text(frame->name);
  else if (innermost != nullptr)
    gap.during = trace.names.text(innermost->name);
}

// The others wait in the background: c10d's watchdog calls CUDA every 100 ms.
std::vector<bool> launching_threads(const Trace& trace) {
  std::vector<bool> launches(trace.threads.size(), false);
  for (const HostCall& call : trace.calls)
    if (call.kind == CallKind::kLaunch || call.kind == CallKind::kGraphLaunch)
      launches[call.thread] = true;
  return launches;
}

}  // namespace

std::optional<HostGap> longest_host_gap(const Trace& trace, std::int64_t from, std::int64_t to) {
  std::optional<HostGap> longest;
  std::int64_t last_end = from;
  const std::vector<bool> launches = launching_threads(trace);
  const auto first =
      std::lower_bound(trace.calls.begin(), trace.calls.end(), from,
                       [](const HostCall& call, std::int64_t time) { return call.start < time; });
  for (auto call = first; call != trace.calls.end() && call->start <= to; ++call) {
    if (!launches[call->thread]) continue;
    if (call->start > last_end && (!longest || call->start - last_end > longest->length()))
      longest = HostGap{last_end, call->start};
    last_end = std::max(last_end, call->end);
  }
  if (longest) name(trace, *longest);
  return longest;
}

}  // namespace comm_probe::torch
