#include "torch/host_blocks.h"

#include <algorithm>
#include <limits>

#include "torch/killer_limits.h"

namespace comm_probe::torch {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

bool launches_work(CallKind kind) {
  return kind == CallKind::kLaunch || kind == CallKind::kGraphLaunch || kind == CallKind::kCopy ||
         kind == CallKind::kMemset;
}
bool is_sync(CallKind kind) {
  return kind == CallKind::kStreamSync || kind == CallKind::kDeviceSync ||
         kind == CallKind::kEventSync;
}
bool is_allocator(CallKind kind) {
  return kind == CallKind::kAllocate || kind == CallKind::kFree ||
         kind == CallKind::kHostAllocate || kind == CallKind::kHostFree;
}
bool is_of_host(CallKind kind) {
  return kind == CallKind::kHostAllocate || kind == CallKind::kHostFree;
}

class BlockFinder {
 public:
  BlockFinder(const Trace& trace, const HostNest& nest, const DeviceTime& time);
  HostBlocks find();

 private:
  void find_items();
  std::optional<Interval> item_block(const GpuOp& copy);
  std::uint32_t sync_behind(std::uint32_t copy_call) const;
  std::uint32_t reading_op(const HostCall& call) const;
  void find_syncs();
  KillerHits& list_of(const HostCall& sync);
  void find_allocations();
  void add(KillerHits& list, Interval at, std::uint32_t call, std::uint32_t host_op,
           std::uint32_t gpu_op = kNone);

  const Trace& trace_;
  const HostNest& nest_;
  const DeviceTime& time_;
  HostBlocks blocks_ = {};
  std::vector<std::vector<std::uint32_t>> calls_of_thread_;
  std::vector<std::uint32_t> place_in_thread_;  // of each call
  std::vector<bool> in_item_;                   // calls that an item explains
  std::vector<std::int64_t> launch_starts_ = {};
  std::vector<bool> launches_kernels_;  // by thread
};

BlockFinder::BlockFinder(const Trace& trace, const HostNest& nest, const DeviceTime& time)
    : trace_(trace),
      nest_(nest),
      time_(time),
      calls_of_thread_(trace.threads.size()),
      place_in_thread_(trace.calls.size()),
      in_item_(trace.calls.size()),
      launches_kernels_(trace.threads.size()) {
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    const HostCall& call = trace.calls[i];
    auto& of_thread = calls_of_thread_[call.thread];
    place_in_thread_[i] = static_cast<std::uint32_t>(of_thread.size());
    of_thread.push_back(i);
    if (launches_work(call.kind)) launch_starts_.push_back(call.start);
    if (call.kind == CallKind::kLaunch || call.kind == CallKind::kGraphLaunch)
      launches_kernels_[call.thread] = true;
  }
}

void BlockFinder::add(KillerHits& list, Interval at, std::uint32_t call, std::uint32_t host_op,
                      std::uint32_t gpu_op) {
  list.hits.push_back({at, {at.start, time_.next_compute(at.end)}, call, gpu_op, host_op});
}

std::uint32_t BlockFinder::sync_behind(std::uint32_t copy_call) const {
  const auto& calls = calls_of_thread_[trace_.calls[copy_call].thread];
  const std::size_t at = place_in_thread_[copy_call];
  for (std::size_t i = at + 1;
       i < calls.size() && i <= at + static_cast<std::size_t>(kKillerLimits.calls_to_sync); ++i)
    if (is_sync(trace_.calls[calls[i]].kind)) return calls[i];
  return kNone;
}

// The outermost of the ops that read a value around a call: aten::item, not _local_scalar_dense.
std::uint32_t BlockFinder::reading_op(const HostCall& call) const {
  std::uint32_t op = nest_.innermost(call.thread, call.start, HostKind::kSync);
  while (op != kNone) {
    const std::uint32_t around = nest_.parent(op);
    if (around == kNone || trace_.host_ops[around].kind != HostKind::kSync) break;
    op = around;
  }
  return op;
}

std::optional<Interval> BlockFinder::item_block(const GpuOp& copy) {
  const std::string_view name = trace_.name_of(copy);
  if (copy.kind != GpuKind::kCopy || name.find("DtoH") == name.npos) return std::nullopt;
  const bool is_pageable = name.find("Pageable") != name.npos;
  if (copy.launch == kNone)
    return is_pageable ? std::optional(Interval{copy.start, copy.end}) : std::nullopt;
  const HostCall& call = trace_.calls[copy.launch];
  if (call.kind == CallKind::kGraphLaunch || !launches_kernels_[call.thread]) return std::nullopt;
  const std::uint32_t sync = sync_behind(copy.launch);
  if (!is_pageable) {
    const std::uint32_t op = reading_op(call);
    if (op == kNone || sync == kNone || trace_.calls[sync].start >= trace_.host_ops[op].end)
      return std::nullopt;
  }
  if (sync == kNone) return Interval{call.start, call.end};
  in_item_[sync] = true;
  return Interval{call.start, std::max(call.end, trace_.calls[sync].end)};
}

void BlockFinder::find_items() {
  for (std::uint32_t i = 0; i < trace_.gpu_ops.size(); ++i) {
    const GpuOp& op = trace_.gpu_ops[i];
    const auto block = item_block(op);
    if (!block) continue;
    const bool is_launched = op.launch != kNone;
    add(blocks_.item, *block, op.launch, is_launched ? reading_op(trace_.calls[op.launch]) : kNone,
        i);
  }
}

KillerHits& BlockFinder::list_of(const HostCall& sync) {
  const auto next = std::upper_bound(launch_starts_.begin(), launch_starts_.end(), sync.start);
  if (next == launch_starts_.end()) return blocks_.final;
  if (sync.kind == CallKind::kEventSync &&
      nest_.innermost(sync.thread, sync.start, HostKind::kParallel) != kNone)
    return blocks_.statistics;
  const std::uint32_t step = step_of_host(trace_, sync.start);
  if (!trace_.steps.empty() && (step == kNone || *next >= trace_.steps[step].end))
    return blocks_.timer;
  return blocks_.synchronise;
}

void BlockFinder::find_syncs() {
  for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
    const HostCall& call = trace_.calls[i];
    if (!is_sync(call.kind) || in_item_[i] || !launches_kernels_[call.thread] ||
        call.end - call.start < kKillerLimits.shortest_sync)
      continue;
    add(list_of(call), {call.start, call.end}, i, nest_.innermost(call.thread, call.start));
  }
}

void BlockFinder::find_allocations() {
  for (const auto& calls : calls_of_thread_) {
    Interval open = {0, kNever};
    std::uint32_t first = kNone;
    const auto close = [&] {
      if (first != kNone && open.length() >= kKillerLimits.shortest_sync)
        add(blocks_.allocator, open, first,
            nest_.innermost(trace_.calls[first].thread, trace_.calls[first].start));
      first = kNone;
    };
    for (const std::uint32_t i : calls) {
      const HostCall& call = trace_.calls[i];
      if (launches_work(call.kind)) close();
      if (!is_allocator(call.kind) || (is_of_host(call.kind) && !launches_kernels_[call.thread]))
        continue;
      if (first != kNone && call.start - open.end > kKillerLimits.allocator_calls_apart) close();
      if (first == kNone) {
        first = i;
        open = {call.start, call.end};
      }
      open.end = std::max(open.end, call.end);
    }
    close();
  }
}

HostBlocks BlockFinder::find() {
  find_items();
  find_syncs();
  find_allocations();
  Intervals entry;
  if (const auto late = long_entry(trace_))
    entry = {{trace_.gpu_ops[late->gpu_op].start, trace_.gpu_ops[late->gpu_op].end}};
  for (KillerHits* list : {&blocks_.item, &blocks_.synchronise, &blocks_.timer, &blocks_.statistics,
                           &blocks_.final, &blocks_.allocator}) {
    std::stable_sort(
        list->hits.begin(), list->hits.end(),
        [](const KillerHit& a, const KillerHit& b) { return a.at.start < b.at.start; });
    list->price(time_, entry);
  }
  return std::move(blocks_);
}

}  // namespace

HostBlocks host_blocks(const Trace& trace, const HostNest& nest, const DeviceTime& time) {
  return BlockFinder(trace, nest, time).find();
}

}  // namespace comm_probe::torch
