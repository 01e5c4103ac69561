// What a small collective takes at least where one thread serves several GPUs: it launches on them
// one after the other, and NCCL's model does not count it. A CUDA graph is one launch.
//
// Worked example (tests/unit/model/launches_test.cc): all_reduce of 8 B on two H200: one thread, 2
// x 5.7 us = 11.4 us, measured 11.46 us; a thread for each GPU, no such bound, measured 7.06 us
// (docs/measured/h200-nccl.md; NCCL's model says 7.8 us).
#pragma once

#include "core/quantity.h"

namespace comm_probe::model {

// Zero for a single GPU: its launch hides behind the call before.
core::Duration launches_in_turn(int gpus_per_thread);

}  // namespace comm_probe::model
