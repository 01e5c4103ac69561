// What only the page of doctor shows: the pictures of the areas that the pile has.
#pragma once

#include <vector>

#include "core/json.h"
#include "diagnose/job.h"
#include "diagnose/trace_killers.h"
#include "torch/match.h"

namespace comm_probe::cli {

// Of the traces of the pile: how their clocks meet, and what kills their overlap.
struct TraceMeeting {
  std::vector<torch::ClockOffset> clocks = {};
  std::vector<diagnose::KillerUse> killers = {};
};

// {curves: [as result.curves of `curve`], machines: [{name, as result of `topo show`}], and what
// `hang` and `trace` put on their pages}; an area that the pile has not is not there. Of many
// curves and machines the first are taken.
core::Json doctor_pictures(const diagnose::JobFacts& facts, const TraceMeeting& meeting);

}  // namespace comm_probe::cli
