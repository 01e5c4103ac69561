#include "torch/across.h"

#include <algorithm>

#include "core/parallel.h"

namespace comm_probe::torch {
namespace {

void assume_size(CommJob& job, std::uint64_t message) {
  for (RankCalls& rank : job.ranks)
    for (CommCall& call : rank.calls)
      if (!call.bytes && is_synchronising(call.kind) && call.kind != CollectiveClass::kBarrier)
        call.bytes = message;
}

}  // namespace

AcrossRanks across_ranks(std::vector<const Trace*> traces, std::uint64_t message) {
  AcrossRanks across;
  std::sort(traces.begin(), traces.end(), [](const Trace* one, const Trace* other) {
    return one->rank.value_or(0) < other->rank.value_or(0);
  });
  across.traces = std::move(traces);
  across.job = comm_job_of(across.traces);
  if (message > 0) assume_size(across.job, message);
  across.matching = match(across.job);
  across.activities.resize(across.traces.size());
  core::for_each_index(
      across.traces.size(),
      [&](std::size_t i) { across.activities[i] = activity_of(*across.traces[i]); }, 1);
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
