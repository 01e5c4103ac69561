// The ranks of a trace report side by side on one clock, for the page of --html.
#pragma once

#include <vector>

#include "core/json.h"
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

// As pictures.timeline of the page: {notes, names, rows: [{name, about, start, summed, exposed,
// pieces: [state, length, state, length, ...], steps, calls, marks: [[start, end, name], ...]}]}
core::Json timeline_picture(const core::Timeline& timeline);

}  // namespace comm_probe::cli
