// When is every rank of an explicit schedule done, on links of their own? The rule of recurrence.h,
// event by event: a send whose turn has come starts when the port out of its rank and the port into
// the other are free, takes both for bytes / beta, and arrives alpha later.
//
// Worked example (tests/unit/model/program_test.cc): 1 MB from rank 0 to rank 1 and, when it is
// there, back; 1 us and 1 GB/s: 2.002 ms.
#pragma once

#include "model/network.h"
#include "model/program.h"

namespace comm_probe::model {

struct ProgramTimes {
  std::vector<core::Duration> ranks = {};  // when each had last to do
  ProgramRun::Ends ends = {};
  core::Duration dependencies = {};  // ProgramRun::dependency_floor
  core::Duration last() const;
  core::Duration first() const;
};

// `begins`: how long after time 0 each rank begins; empty: none is late.
ProgramTimes play_program(const Program& program, const Network& network,
                          std::span<const core::Duration> begins);

}  // namespace comm_probe::model
