#include "model/step_alpha.h"

#include <array>

#include "core/check.h"

namespace comm_probe::model {
namespace {

// Inside golden G1-17 (2 to 5 us on NVLink) and G1-16 (5 to 20 us over InfiniBand) with Simple.
constexpr const char* kRingLatency = "NCCL 2.28.9 src/graph/tuning.cc, latency of a ring step";
constexpr std::array kStepAlphas = {
    StepAlpha{StepClass::kNvlink, Protocol::kLl, 0.6, kRingLatency},
    StepAlpha{StepClass::kNvlink, Protocol::kLl128, 1.9, kRingLatency},
    StepAlpha{StepClass::kNvlink, Protocol::kSimple, 3.4, kRingLatency},
    StepAlpha{StepClass::kPcie, Protocol::kLl, 1.0, kRingLatency},
    StepAlpha{StepClass::kPcie, Protocol::kLl128, 2.5, kRingLatency},
    StepAlpha{StepClass::kPcie, Protocol::kSimple, 5.7, kRingLatency},
    StepAlpha{StepClass::kNetwork, Protocol::kLl, 2.7, kRingLatency},
    StepAlpha{StepClass::kNetwork, Protocol::kLl128, 4.0, kRingLatency},
    StepAlpha{StepClass::kNetwork, Protocol::kSimple, 14.0, kRingLatency},
};

}  // namespace

std::span<const StepAlpha> step_alphas() { return kStepAlphas; }

core::Duration step_alpha(StepClass step, Protocol protocol) {
  for (const StepAlpha& row : kStepAlphas)
    if (row.step == step && row.protocol == protocol) return core::Duration::from_us(row.alpha_us);
  COMM_PROBE_CHECK(false, "a step without an alpha");
}

}  // namespace comm_probe::model
