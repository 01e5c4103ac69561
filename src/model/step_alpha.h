// What one step of a ring costs on a kind of link, before anything is measured: NCCL's own
// constants by protocol, from its tuning tables. They lie below or inside the usual ranges: 2 to 5
// us on NVLink (golden G1-17, whose note names 0.6, 1.9 and 3.4), 5 to 20 us over a network
// (G1-16). Worked example: step_alpha(StepClass::kNvlink, Protocol::kLl) == 0.6 us. Units: us.
#pragma once

#include <span>

#include "model/collective.h"

namespace comm_probe::model {

enum class StepClass { kNvlink, kPcie, kNetwork };

// One step of a ring, without the measured constant of this machine.
struct StepAlpha {
  StepClass step;
  Protocol protocol;
  double alpha_us;
  const char* source;
};
std::span<const StepAlpha> step_alphas();
core::Duration step_alpha(StepClass step, Protocol protocol);

}  // namespace comm_probe::model
