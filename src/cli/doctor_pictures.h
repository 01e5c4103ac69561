// What only the page of doctor shows: the pictures of the areas that the pile has.
#pragma once

#include <string>
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

// The traces of a further job of the pile.
struct OtherTraces {
  std::string folder = {};
  const std::vector<torch::Trace>* traces = nullptr;
  TraceMeeting meeting = {};
};

// {curves: [as result.curves of `curve`], machines: [{name, as result of `topo show`}], and what
// `hang` and `trace` put on their pages, other_timelines: [{name, as timeline}]}; an area that the
// pile has not is not there. Of many curves, machines and jobs the first are taken.
core::Json doctor_pictures(const diagnose::JobFacts& facts, const TraceMeeting& meeting,
                           const std::vector<OtherTraces>& others);

}  // namespace comm_probe::cli
