#include "torch/across.h"

#include <algorithm>

namespace comm_probe::torch {

AcrossRanks across_ranks(std::vector<const Trace*> traces) {
  AcrossRanks across;
  std::sort(traces.begin(), traces.end(), [](const Trace* one, const Trace* other) {
    return one->rank.value_or(0) < other->rank.value_or(0);
  });
  across.traces = std::move(traces);
  across.job = comm_job_of(across.traces);
  across.matching = match(across.job);
  for (const Trace* trace : across.traces) across.activities.push_back(activity_of(*trace));
  across.waits = waits_of(across.job, across.matching, across.activities);
  across.rates = rates_of(across.job, across.matching, across.waits);
  return across;
}

AcrossRanks across_ranks(CommJob job) {
  AcrossRanks across;
  across.job = std::move(job);
  across.matching = match(across.job);
  across.waits = waits_of(across.job, across.matching, {});
  across.rates = rates_of(across.job, across.matching, across.waits);
  return across;
}

}  // namespace comm_probe::torch
