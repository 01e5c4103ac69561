// Reads GOAL text, the schedules of LogGOPSim and Schedgen (docs/formats/goal.md):
//
//   num_ranks 2
//   rank 0 { l1: send 8b to 1 tag 0
//            l2: calc 100 cpu 0
//            l2 requires l1 }
//   rank 1 { l1: recv 8b from 0 tag 0 }
//
// One statement a line, or `;` between them; // and /* */ are comments; -1 is any peer, any tag;
// calc counts nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "core/input.h"
#include "model/program.h"

namespace comm_probe::sim {

// A schedule and where its ops stand.
struct ProgramFile {
  std::string name = {};
  model::Program program{1};
  std::vector<std::uint64_t> lines = {};  // by op
  const char* unit = "line";              // what `lines` counts
  std::size_t other_nics = 0;             // messages that name a NIC other than 0
};

inline constexpr std::size_t kMostOps = 1 << 24, kMostDependencies = 1 << 25;

// Fails with the line on what is no GOAL, a label that is not there, ops that wait for each other
// in a circle, a block that is not closed, more ranks than kMostPlayedRanks, more than kMostOps
// ops.
core::Result<ProgramFile> read_goal(core::Input& input);

}  // namespace comm_probe::sim
