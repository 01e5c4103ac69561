// A routed all_to_all over the messages of MPI: every stage is one exchange in which all parts are
// under way at the same time. Nodes are emulated as for the local engine, but no rate is kept to:
// what lies between the ranks is real.
#pragma once

#include "measure/engine.h"
#include "measure/routed/routed.h"

namespace comm_probe::measure::mpi {

core::Result<RoutedRun> run_routed(const RoutedPlan& plan, const Progress& progress);

}  // namespace comm_probe::measure::mpi
