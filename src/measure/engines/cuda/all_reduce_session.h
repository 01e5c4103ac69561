// What one process of an all_reduce run does: opens its GPU, makes the memory of its ranks known to
// the others and takes theirs, then for each size fills, calls once and checks, warms up, and times
// blocks of calls with events. Results go to the World that the parent reads.
#pragma once

#include <vector>

#include "measure/engines/cuda/all_reduce_kernels.h"
#include "measure/engines/cuda/all_reduce_memory.h"
#include "measure/engines/cuda/all_reduce_world.h"
#include "measure/measure.h"

namespace comm_probe::measure::cuda {

struct AllReduceStep {
  Amount amount = {};
  model::Algorithm algorithm = model::Algorithm::kOneShot;
};

struct AllReduceJob {
  const Plan& plan;
  const std::vector<AllReduceStep>& steps;
  const AllReduceMemory& memory;
  const AllReduceWorld& world;
  int devices = 1;  // process p uses GPU p % devices
};

// The body of process `process`. Its error, if any, stands in the world.
void run_all_reduce(const AllReduceJob& job, int process);

}  // namespace comm_probe::measure::cuda
