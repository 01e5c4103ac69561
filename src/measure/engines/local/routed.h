// A routed all_to_all between processes of this machine: every rank writes into the others' receive
// buffers in shared memory. Between emulated nodes a token bucket per rank and direction keeps to
// the rate of its NIC.
#pragma once

#include "measure/engine.h"
#include "measure/routed/routed.h"

namespace comm_probe::measure {

core::Result<RoutedRun> run_local_routed(const RoutedPlan& plan, const Progress& progress);

}  // namespace comm_probe::measure
