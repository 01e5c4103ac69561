#include "torch/small_collectives.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "torch/breakdown.h"
#include "torch/by_design.h"
#include "torch/killer_limits.h"

namespace comm_probe::torch {
namespace {

using Key = std::pair<std::uint32_t, CollectiveClass>;

struct Call {
  std::uint32_t op;
  std::optional<std::uint64_t> bytes;
  bool follows_compute;  // a kernel of its own stream ran between it and the one before
};

bool is_nccl(const Trace& trace, const GpuOp& op) {
  return op.comm_kernel != kNone &&
         trace.comm_kernels[op.comm_kernel].backend == CommBackend::kNccl;
}

std::map<Key, std::vector<Call>> calls_by_group(const Trace& trace, const Phases& phases,
                                                std::uint32_t compute_stream) {
  const ByDesign by_design(trace, phases);
  std::map<Key, std::vector<Call>> calls;
  bool computed = true;  // on the compute stream since the last collective there
  for (std::uint32_t i = 0; i < trace.gpu_ops.size(); ++i) {
    const GpuOp& op = trace.gpu_ops[i];
    const bool on_compute = op.stream == compute_stream;
    if (on_compute && op.kind == GpuKind::kCompute) computed = true;
    if (op.kind != GpuKind::kCommunication) continue;
    const bool follows = on_compute && std::exchange(computed, on_compute ? false : computed);
    if (!is_nccl(trace, op) || by_design(op)) continue;
    const CollectiveCall* call = trace.collective_of(op);
    Call one{i, std::nullopt, follows};
    if (call != nullptr) one.bytes = collective_bytes(trace, *call);
    calls[{call == nullptr ? kNone : call->group, trace.class_of(op)}].push_back(one);
  }
  return calls;
}

// Keeps the small ones; without sizes all or none.
void keep_small(const Trace& trace, std::vector<Call>& calls) {
  std::vector<std::int64_t> durations;
  for (const Call& one : calls)
    if (!one.bytes) durations.push_back(trace.gpu_ops[one.op].duration());
  bool are_short = false;
  if (!durations.empty()) {
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    are_short = *middle < kKillerLimits.tiny_duration;
  }
  std::erase_if(calls, [are_short](const Call& one) {
    return one.bytes ? static_cast<double>(*one.bytes) >= kKillerLimits.tiny_bytes : !are_short;
  });
}

std::int64_t latency_of(const Trace& trace, const std::vector<Call>& calls) {
  std::vector<std::int64_t> durations;
  for (const Call& one : calls) durations.push_back(trace.gpu_ops[one.op].duration());
  const auto tenth = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 10);
  std::nth_element(durations.begin(), tenth, durations.end());
  return *tenth;
}

SmallCollectives summed(const Trace& trace, const Key& key, const std::vector<Call>& calls,
                        const DeviceTime& time) {
  SmallCollectives small{.group = key.first, .kind = key.second};
  struct StepSum {
    std::int64_t calls = 0;
    double bytes = 0;
  };
  std::map<std::uint32_t, StepSum> steps;
  Intervals busy;
  small.is_sized = true;
  for (const Call& one : calls) {
    const GpuOp& op = trace.gpu_ops[one.op];
    const Interval at{op.start, op.end};
    small.calls.hits.push_back({at, at, op.launch, one.op, kNone});
    busy.push_back(at);
    small.is_sized = small.is_sized && one.bytes.has_value();
    small.bytes += one.bytes.value_or(0);
    StepSum& step = steps[op.step];
    ++step.calls;
    step.bytes += static_cast<double>(one.bytes.value_or(0));
  }
  small.calls.price(time);
  small.busy = length(unite(std::move(busy)));
  small.latency = latency_of(trace, calls);
  // Work outside of all steps is no step of its own where there are steps.
  small.steps =
      std::max<std::size_t>(1, steps.size() - (steps.size() > 1 && steps.contains(kNone)));
  for (const auto& [number, step] : steps) {
    const auto merged = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(step.bytes / kKillerLimits.bucket_bytes)));
    small.merged_calls += merged;
    small.saving += std::max<std::int64_t>(0, step.calls - merged) * small.latency;
  }
  return small;
}

bool cannot_merge(const std::vector<Call>& calls) {
  const auto bound = static_cast<std::size_t>(std::count_if(
      calls.begin(), calls.end(), [](const Call& one) { return one.follows_compute; }));
  return 2 * bound > calls.size();
}

}  // namespace

std::vector<SmallCollectives> small_collectives(const Trace& trace, const Phases& phases,
                                                const DeviceTime& time,
                                                std::uint32_t compute_stream) {
  std::vector<SmallCollectives> found;
  for (auto& [key, calls] : calls_by_group(trace, phases, compute_stream)) {
    keep_small(trace, calls);
    if (calls.size() < kKillerLimits.tiny_per_step || cannot_merge(calls)) continue;
    SmallCollectives one = summed(trace, key, calls, time);
    if (one.per_step() >= kKillerLimits.tiny_per_step) found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.saving > b.saving; });
  return found;
}

}  // namespace comm_probe::torch
