// A rank's process that ended too early, as every engine that starts its own processes reports it.
#pragma once

#include "measure/engines/local/processes.h"
#include "measure/measure.h"

namespace comm_probe::measure::local {

// `ended.died` is there.
RankDeath death_of(const Ended& ended);

}  // namespace comm_probe::measure::local
