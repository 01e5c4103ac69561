// A schedule that stands still, as one line: which receives wait, and why nothing comes.
#pragma once

#include "model/program.h"
#include "sim/readers/goal.h"

namespace comm_probe::sim {

core::Error deadlock(const ProgramFile& file, const model::ProgramRun::Ends& ends);

}  // namespace comm_probe::sim
