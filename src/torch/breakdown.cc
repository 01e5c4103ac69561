#include "torch/breakdown.h"

#include <algorithm>
#include <map>

#include "torch/steps.h"

namespace comm_probe::torch {
namespace {

void add(Unions& unions, const GpuOp& op) {
  const Interval interval{op.start, op.end};
  if (unions.ops++ == 0) unions.extent = interval;
  unions.extent.start = std::min(unions.extent.start, op.start);
  unions.extent.end = std::max(unions.extent.end, op.end);
  switch (op.kind) {
    case GpuKind::kCompute:
      unions.compute.push_back(interval);
      return;
    case GpuKind::kCommunication:
      unions.communication.push_back(interval);
      ++unions.communication_ops;
      return;
    case GpuKind::kCopy:
    case GpuKind::kMemset:
      unions.memory.push_back(interval);
      return;
  }
}

void unite_all(Unions& unions) {
  unions.compute = unite(std::move(unions.compute));
  unions.communication = unite(std::move(unions.communication));
  unions.memory = unite(std::move(unions.memory));
}

Intervals both(const Intervals& a, const Intervals& b) {
  Intervals all = a;
  all.insert(all.end(), b.begin(), b.end());
  return unite(std::move(all));
}

std::vector<StepBreakdown> steps_of(const Trace& trace, const Intervals& idle) {
  std::vector<Unions> all_unions(trace.steps.size());
  for (const GpuOp& op : trace.gpu_ops)
    if (op.step != kNone) add(all_unions[op.step], op);
  const auto windows = device_windows(trace);
  std::vector<StepBreakdown> steps;
  for (std::uint32_t i = 0; i < all_unions.size(); ++i) {
    if (all_unions[i].ops == 0) continue;
    unite_all(all_unions[i]);
    steps.push_back(
        {i, breakdown_of(all_unions[i]), windows[i].length(), length(clip(idle, windows[i]))});
  }
  return steps;
}

std::vector<StreamUse> streams_of(const Trace& trace) {
  std::vector<Unions> all_unions(trace.streams.size());
  for (const GpuOp& op : trace.gpu_ops) add(all_unions[op.stream], op);
  std::vector<StreamUse> uses;
  for (std::uint32_t i = 0; i < all_unions.size(); ++i) {
    Unions& one = all_unions[i];
    if (one.ops == 0) continue;
    unite_all(one);
    uses.push_back({i, length(both(both(one.compute, one.communication), one.memory)),
                    length(one.compute), length(one.communication), one.ops});
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const StreamUse& a, const StreamUse& b) { return a.busy > b.busy; });
  return uses;
}

// Time in which communication runs on two streams at once.
std::int64_t shared_communication(const Trace& trace) {
  std::map<std::uint32_t, Intervals> by_stream;
  for (const GpuOp& op : trace.gpu_ops)
    if (op.kind == GpuKind::kCommunication) by_stream[op.stream].push_back({op.start, op.end});
  Intervals seen;
  Intervals shared;
  for (auto& [stream, intervals] : by_stream) {
    Intervals one = unite(std::move(intervals));
    shared = both(shared, intersect(seen, one));
    seen = both(seen, one);
  }
  return length(shared);
}

void add_to_group(const Trace& trace, const GpuOp& op, GroupUse& use) {
  ++use.kernels;
  const CollectiveCall* call = trace.collective_of(op);
  const auto bytes = call == nullptr ? std::nullopt : collective_bytes(trace, *call);
  if (!bytes) return;
  use.bytes += *bytes;
  ++use.sized;
}

std::vector<GroupUse> groups_of(const Trace& trace, const Intervals& compute) {
  std::map<std::pair<std::uint32_t, CollectiveClass>, std::pair<GroupUse, Intervals>> by_group;
  for (const GpuOp& op : trace.gpu_ops) {
    if (op.kind != GpuKind::kCommunication) continue;
    const CollectiveCall* call = trace.collective_of(op);
    const std::pair key{call == nullptr ? kNone : call->group, trace.class_of(op)};
    auto& [use, intervals] = by_group[key];
    use.group = key.first;
    use.kind = key.second;
    add_to_group(trace, op, use);
    intervals.push_back({op.start, op.end});
  }
  std::vector<GroupUse> uses;
  for (auto& [key, entry] : by_group) {
    const Intervals all = unite(std::move(entry.second));
    entry.first.busy = length(all);
    entry.first.exposed = entry.first.busy - shared_length(all, compute);
    uses.push_back(entry.first);
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const GroupUse& a, const GroupUse& b) { return a.busy > b.busy; });
  return uses;
}

}  // namespace

std::optional<double> Breakdown::overlap_percent() const {
  if (communication == 0) return std::nullopt;
  return 100.0 * static_cast<double>(overlap) / static_cast<double>(communication);
}

Unions unions_of(const Trace& trace) {
  Unions unions;
  for (const GpuOp& op : trace.gpu_ops) add(unions, op);
  unite_all(unions);
  return unions;
}

Breakdown breakdown_of(const Unions& unions) {
  const Intervals busy = both(unions.compute, unions.communication);
  const Intervals all = both(busy, unions.memory);
  Breakdown result;
  result.ops = unions.ops;
  result.communication_ops = unions.communication_ops;
  result.span = unions.extent.length();
  result.compute = length(unions.compute);
  result.communication = length(unions.communication);
  result.memory = length(unions.memory);
  result.overlap = shared_length(unions.communication, unions.compute);
  result.exposed_communication = result.communication - result.overlap;
  result.exposed_memory = length(all) - length(busy);
  result.idle = result.span - length(all);
  return result;
}

RankBreakdown break_down(const Trace& trace) {
  const Unions unions = unions_of(trace);
  RankBreakdown result;
  result.total = breakdown_of(unions);
  const Intervals all = both(both(unions.compute, unions.communication), unions.memory);
  if (unions.ops > 0) result.idle = subtract({unions.extent}, all);
  result.steps = steps_of(trace, result.idle);
  result.streams = streams_of(trace);
  result.groups = groups_of(trace, unions.compute);
  result.communication_shared = shared_communication(trace);
  return result;
}

std::optional<std::uint64_t> collective_bytes(const Trace& trace, const CollectiveCall& call) {
  const TraceGroup* group = trace.group_of(call);
  const std::int64_t elements =
      call.size_elements(group == nullptr ? 0 : static_cast<std::size_t>(group->size));
  const auto width = call.dtype ? dtype_bytes(trace.names.text(*call.dtype)) : std::nullopt;
  if (elements < 0 || !width || elements > (std::int64_t{1} << 56)) return std::nullopt;
  return static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(*width);
}

}  // namespace comm_probe::torch
