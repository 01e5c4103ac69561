#include "torch/contention.h"

#include <algorithm>
#include <map>
#include <utility>

#include "torch/killer_limits.h"

namespace comm_probe::torch {
namespace {

struct Kind {
  std::vector<std::int64_t> alone = {};
  std::vector<std::int64_t> beside = {};
  std::uint32_t example = kNone;
};

std::int64_t quantile(std::vector<std::int64_t>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

using Kinds = std::map<std::pair<NameId, std::uint32_t>, Kind>;

// Ops and communication are both sorted by start.
Kinds kinds_of(const Trace& trace, const Intervals& communication) {
  Kinds kinds;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < trace.gpu_ops.size(); ++i) {
    const GpuOp& op = trace.gpu_ops[i];
    if (op.kind != GpuKind::kCompute || op.duration() <= 0) continue;
    while (at < communication.size() && communication[at].end <= op.start) ++at;
    const bool is_beside = at < communication.size() && communication[at].start <= op.start;
    const bool touches = at < communication.size() && communication[at].start < op.end;
    if (touches && !is_beside) continue;
    Kind& kind = kinds[{op.name, op.shape}];
    (is_beside ? kind.beside : kind.alone).push_back(op.duration());
    if (is_beside && kind.example == kNone) kind.example = i;
  }
  return kinds;
}

bool counts(Kind& kind) {
  if (kind.alone.size() < kKillerLimits.kernels_alone ||
      kind.beside.size() < kKillerLimits.kernels_beside)
    return false;
  const std::int64_t low = quantile(kind.alone, 0.1);
  const std::int64_t high = quantile(kind.alone, 0.9);
  return static_cast<double>(high) <=
         kKillerLimits.alike * static_cast<double>(std::max<std::int64_t>(1, low));
}

void add(Kind& kind, double& weighted, double& weight, Contention& all) {
  const std::int64_t alone = std::max<std::int64_t>(1, quantile(kind.alone, 0.5));
  const std::int64_t beside = quantile(kind.beside, 0.5);
  const double ratio = static_cast<double>(beside) / static_cast<double>(alone);
  std::int64_t sum = 0;
  for (const std::int64_t duration : kind.beside) sum += duration;
  const auto lost =
      static_cast<std::int64_t>(static_cast<double>(sum) * (1 - 1 / std::max(1.0, ratio)));
  if (all.example == kNone || lost > all.example_lost) {
    all.example = kind.example;
    all.example_lost = lost;
    all.example_alone = alone;
    all.example_beside = beside;
  }
  ++all.kinds;
  all.kernels += kind.beside.size();
  all.lost += lost;
  weighted += ratio * static_cast<double>(sum);
  weight += static_cast<double>(sum);
}

}  // namespace

Contention contention(const Trace& trace, const DeviceTime& time) {
  Contention all;
  for (const GpuOp& op : trace.gpu_ops)
    if (op.kind == GpuKind::kCommunication && op.shape != kNone)
      all.channels = std::max(all.channels, trace.shapes[op.shape].grid[0]);
  double weighted = 0;
  double weight = 0;
  for (auto& [key, kind] : kinds_of(trace, time.communication))
    if (counts(kind)) add(kind, weighted, weight, all);
  if (weight > 0) all.slowdown = weighted / weight;
  return all;
}

}  // namespace comm_probe::torch
