// Which ranks run where: processes x threads x GPUs of a thread, numbered in this order, as
// nccl-tests does.
//
//   2 processes, 1 thread, 4 GPUs each: process 1 has the ranks 4 to 7 on its GPUs 0 to 3 (of this
//   machine: 4 to 7 where both run on it)
#pragma once

#include "core/result.h"
#include "measure/engines/nccl/launched.h"
#include "measure/measure.h"

namespace comm_probe::measure::nccl {

struct Layout {
  Launched launched = {};
  bool shares_one_gpu = false;
  int processes = 1;
  int threads = 1;
  int gpus = 1;  // of a thread

  int ranks() const { return processes * threads * gpus; }
  int ranks_of_process() const { return threads * gpus; }
  int rank_of(int process, int thread, int gpu) const {
    return (process * threads + thread) * gpus + gpu;
  }
  // Of the machine; `local` counts this machine's processes.
  int device_of(int local, int thread, int gpu) const {
    return shares_one_gpu ? 0 : (local * threads + thread) * gpus + gpu;
  }
};

// Fails where the plan contradicts itself or the launcher. The GPUs are not looked at.
core::Result<Layout> layout_of(const Plan& plan, const Launched& launched);

}  // namespace comm_probe::measure::nccl
