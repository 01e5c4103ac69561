// Why did a rank come late to the collectives that the others waited in?
//
// arrival   how much later than the others it started them, counted from the end of the group's
//           previous collective: whoever is late by the durations must be late by this too. Where
//           it is not, the kernels did not end together (several ranks on one GPU).
// parts     what it spent more of than the others between two collectives that all attended: there
//           all windows are equally long, so whatever the others waited, it spent on something else
//           (activity.h). `communication` is that of other groups only.
//
// Worked example (tests/golden/trace): case 12, rank 1: 1.4 ms more idle time than the others,
// compute equal: its host came late. Case 08, rank 2: compute instead.
#pragma once

#include <cstdint>
#include <optional>

#include "torch/waits.h"

namespace comm_probe::torch {

struct Lateness {
  int group = -1;            // where it caused most waiting
  std::int64_t arrival = 0;  // sum over its clear last places
  std::int64_t margins = 0;  // of those: by how much its kernel was the shortest
  WindowParts own = {};
  WindowParts typical = {};       // medians of the others
  std::int64_t launch_delay = 0;  // median from launch to start where it came last; 0: not known
  // Where the others waited longest: between these two launches its host came late.
  std::int64_t worst_before = 0;
  std::int64_t worst_launch = 0;  // 0: not known

  WindowParts more() const;
};

// The meetings of a rank's (index) first call in the window are left out; `step` -1: all steps.
Lateness lateness_of(const CommJob& job, const Matching& matching, const Waits& waits,
                     const std::vector<RankActivity>& activities, int rank, std::int64_t step);

}  // namespace comm_probe::torch
