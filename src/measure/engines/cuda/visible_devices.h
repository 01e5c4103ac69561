// How many GPUs can this process use? Asked without initialising the CUDA driver here, because a
// process that has done so must not fork into ones that use it (driver.h): a child asks.
//
//   const auto devices = visible_devices();   // {.count = 8, .driver_runs_here = false}
//   fails: "libcuda.so.1 does not load: ...", "the CUDA driver sees no GPU"
#pragma once

#include "core/result.h"

namespace comm_probe::measure::cuda {

struct VisibleDevices {
  int count = 0;
  // Something in this process (a library, an earlier measurement) has initialised the driver.
  bool driver_runs_here = false;
};
// Asked once per process.
core::Result<VisibleDevices> visible_devices();

// CUDA_LAUNCH_BLOCKING is set: a driver that starts now waits for the end of every kernel, so that
// a stream must not be held, and one thread cannot serve several GPUs whose kernels wait for each
// other.
bool launches_block();

}  // namespace comm_probe::measure::cuda
