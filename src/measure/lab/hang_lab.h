// Makes one hang (hang_case.h): writes the script, starts a python3 with PyTorch for every rank,
// waits until the watchdogs have left their dumps, and ends every process.
//
// What stays in the folder: hang_rank.py, rankN.log (output of each process), nccl_trace_rank_N
// (Flight Recorder dumps), truth.json (what was planted; no input of `hang`).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "measure/lab/hang_case.h"
#include "measure/lab/job.h"

namespace comm_probe::measure::lab {

struct HangRequest {
  const HangCase& planted;
  Job job = {};
  core::Duration timeout = core::Duration::from_seconds(15);  // of a collective
};

struct HangLeft {
  std::vector<int> dumps = {};    // ranks that left one
  std::vector<int> waiting = {};  // ranks of which one was expected
  JobEnd end = {};
};

// Fails where the folder cannot be written, or the ranks ended before the fault was planted (with
// the last line of the first that did).
core::Result<HangLeft> make_hang(const HangRequest& request,
                                 const std::function<void(const std::string&)>& progress);

}  // namespace comm_probe::measure::lab
