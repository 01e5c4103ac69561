#include "measure/routed/predict.h"

#include <algorithm>

namespace comm_probe::measure {
namespace {

core::Duration stages_time(const std::vector<StageBytes>& stages, const RoutedShape& shape,
                           core::Bandwidth nic, const StageCost& cost) {
  core::Duration sum;
  for (const StageBytes& stage : stages) {
    const auto moving =
        core::Duration::from_seconds(static_cast<double>(stage.all()) * cost.per_byte);
    core::Duration wire;
    if (nic.in_bytes_per_second() > 0)
      wire = core::Bytes::of(stage.most_between_nodes(shape)) / nic;
    sum += core::Duration::from_seconds(cost.alpha) + std::max(moving, wire);
  }
  return sum;
}

void fill_bytes(const std::vector<StageBytes>& stages, const RoutedShape& shape,
                RoutedPhase& phase) {
  std::uint64_t nic = 0, all = 0;
  for (const StageBytes& stage : stages)
    nic = std::max(nic, stage.most_between_nodes(shape)), all += stage.all();
  phase.most_nic = core::Bytes::of(nic);
  phase.all = core::Bytes::of(all);
}

RoutedPhase phase_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  RoutedPhase phase;
  if (seconds.empty()) return phase;
  phase.time = core::Duration::from_seconds(seconds[seconds.size() / 2]);
  phase.fastest = core::Duration::from_seconds(seconds.front());
  phase.slowest = core::Duration::from_seconds(seconds.back());
  return phase;
}

StageCost cost_of(const RoutedPhase& empty, const RoutedPhase& even) {
  StageCost cost{.alpha = empty.time.in_seconds()};
  if (even.all.count() > 0)
    cost.per_byte = std::max(0.0, even.time.in_seconds() - cost.alpha) / even.all.count();
  return cost;
}

}  // namespace

RoutedCost routed_cost(const RoutedRow& empty, const RoutedRow& even) {
  return {cost_of(empty.dispatch, even.dispatch), cost_of(empty.combine, even.combine)};
}

void predict(const RoutedStages& stages, const RoutedShape& shape, core::Bandwidth nic,
             const RoutedCost& cost, RoutedRow& row) {
  fill_bytes(stages.dispatch, shape, row.dispatch);
  fill_bytes(stages.combine, shape, row.combine);
  row.dispatch.predicted = stages_time(stages.dispatch, shape, nic, cost.dispatch);
  row.combine.predicted = stages_time(stages.combine, shape, nic, cost.combine);
}

RoutedRow row_of(const RoutedStages& stages, const RoutedSamples& samples,
                 const RoutedCheck& check) {
  RoutedRow row;
  row.scheme = stages.scheme;
  row.dispatch = phase_of(samples.dispatch);
  row.combine = phase_of(samples.combine);
  row.check = check;
  return row;
}

}  // namespace comm_probe::measure
