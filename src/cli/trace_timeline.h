// The ranks of a trace report side by side on one clock, for --html.
#pragma once

#include <vector>

#include "core/timeline.h"
#include "diagnose/trace_killers.h"
#include "torch/match.h"
#include "torch/trace.h"

namespace comm_probe::cli {

// Clocks are aligned by the ends of collectives; ranks without common collectives whose clocks are
// further apart than their traces are long begin together, and a note says so.
// `clocks`: of the same traces, in their order.
core::Timeline timeline_of(const std::vector<torch::Trace>& traces,
                           const std::vector<torch::ClockOffset>& clocks,
                           const std::vector<diagnose::KillerUse>& killers);

}  // namespace comm_probe::cli
