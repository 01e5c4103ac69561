// How long should the smallest message of a measured curve take? NCCL's model counts the steps; a
// thread that serves several GPUs also has to launch on them in turn (model/launches.h). The longer
// of the two rules, because launches run while the GPUs work.
//
// Worked example (tests/unit/diagnose/small_end_test.cc): all_reduce of 8 B on eight A100 with -g
// 8: 15 us of steps, 45.6 us of launches.
#pragma once

#include "curve/curve.h"
#include "diagnose/plan_price.h"

namespace comm_probe::diagnose {

// Zero where each GPU has a thread, a CUDA graph launches all at once, or the text does not say.
core::Duration launches_of(const curve::RunSettings& settings);
core::Duration smallest_expected(const PlanPrice& price, const curve::RunSettings& settings);

}  // namespace comm_probe::diagnose
