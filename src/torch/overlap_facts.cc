#include "torch/overlap_facts.h"

#include <algorithm>
#include <vector>

namespace comm_probe::torch {
namespace {

Intervals blocked_time(const HostBlocks& blocks) {
  Intervals all;
  for (const KillerHits* list :
       {&blocks.item, &blocks.synchronise, &blocks.timer, &blocks.statistics, &blocks.allocator})
    for (const KillerHit& hit : list->hits) all.push_back(hit.lost);
  for (const KillerHit& hit : blocks.final.hits) all.push_back(hit.at);
  return all;
}

std::size_t count_steps(const Trace& trace) {
  std::vector<bool> has_work(trace.steps.size(), false);
  for (const GpuOp& op : trace.gpu_ops)
    if (op.step != kNone) has_work[op.step] = true;
  const auto count = std::count(has_work.begin(), has_work.end(), true);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, count));
}

}  // namespace

std::string OverlapFacts::place_of(const KillerHit& hit) const {
  if (hit.call == kNone || trace->frames.empty()) return {};
  const HostCall& call = trace->calls[hit.call];
  return HostNest(*trace).place(call.thread, call.start);
}

OverlapFacts overlap_facts(const Trace& trace) {
  const DeviceTime time(trace);
  const HostNest nest(trace);
  const Phases phases(trace);
  OverlapFacts facts{.trace = &trace, .extent = time.extent};
  facts.steps = count_steps(trace);
  facts.communication = length(time.communication);
  facts.blocks = host_blocks(trace, nest, time);
  facts.streams = stream_stalls(trace, phases, time);
  facts.contention = contention(trace, time);
  facts.small = small_collectives(trace, phases, time, facts.streams.compute_stream);
  facts.gaps = launch_gaps(trace, blocked_time(facts.blocks));
  for (const HostOp& op : trace.host_ops)
    facts.is_parallel = facts.is_parallel || op.kind == HostKind::kParallel;
  return facts;
}

}  // namespace comm_probe::torch
