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

StageCost cost_of(core::Duration empty, core::Duration even, core::Bytes bytes) {
  StageCost cost{.alpha = empty.in_seconds()};
  if (bytes.count() > 0)
    cost.per_byte = std::max(0.0, even.in_seconds() - cost.alpha) / bytes.count();
  return cost;
}

RoutedCost cost_of(const RoutedRow& empty, const RoutedRow& even,
                   core::Duration RoutedPhase::*sample) {
  const auto of = [sample](const RoutedPhase& none, const RoutedPhase& all) {
    return cost_of(none.*sample, all.*sample, all.all);
  };
  return {of(empty.dispatch, even.dispatch), of(empty.combine, even.combine)};
}

}  // namespace

RoutedCosts routed_costs(const RoutedRow& empty, const RoutedRow& even) {
  return {cost_of(empty, even, &RoutedPhase::time), cost_of(empty, even, &RoutedPhase::fastest),
          cost_of(empty, even, &RoutedPhase::slowest)};
}

void predict(const RoutedStages& stages, const RoutedShape& shape, core::Bandwidth nic,
             const RoutedCosts& costs, RoutedRow& row) {
  fill_bytes(stages.dispatch, shape, row.dispatch);
  fill_bytes(stages.combine, shape, row.combine);
  for (const auto& [cost, time] : {std::pair{&costs.median, &RoutedPhase::predicted},
                                   {&costs.least, &RoutedPhase::predicted_least},
                                   {&costs.most, &RoutedPhase::predicted_most}}) {
    row.dispatch.*time = stages_time(stages.dispatch, shape, nic, cost->dispatch);
    row.combine.*time = stages_time(stages.combine, shape, nic, cost->combine);
  }
}

core::Duration limited_time(const RoutedPlan& plan) {
  core::Duration sum;
  if (plan.nic.in_bytes_per_second() <= 0) return sum;
  for (const auto scheme : {model::MoeScheme::kFlat, model::MoeScheme::kDedup}) {
    const RoutedStages stages = stages_of(plan.routing, plan.shape, scheme);
    sum += stages_time(stages.dispatch, plan.shape, plan.nic, {});
    sum += stages_time(stages.combine, plan.shape, plan.nic, {});
  }
  return sum;
}

void fit_repetitions(core::Duration time, RoutedPlan& plan) {
  const core::Duration once = limited_time(plan);
  if (once * (plan.warmup + plan.blocks) <= time) return;
  plan.blocks = std::clamp(static_cast<int>(time / once) - plan.warmup, 1, plan.blocks);
  if (plan.blocks == 1) plan.warmup = 0;
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
