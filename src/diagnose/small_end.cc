#include "diagnose/small_end.h"

#include <algorithm>

#include "model/launches.h"

namespace comm_probe::diagnose {

core::Duration launches_of(const curve::RunSettings& settings) {
  if (settings.graph.value_or(0) > 0) return {};
  return model::launches_in_turn(settings.gpus_per_thread.value_or(1));
}

core::Duration smallest_expected(const PlanPrice& price, const curve::RunSettings& settings) {
  return std::max(price.smallest.time(), launches_of(settings));
}

}  // namespace comm_probe::diagnose
