// A routed all_to_all by NCCL: every stage is one group of ncclSend and ncclRecv with the sizes of
// the routing, between the GPUs of this host, one per rank. Tokens are packed, answered and added
// up on the host, because we have no kernels for it: only the groups are timed, and nodes are
// emulated by who sends to whom, with no limit between them.
#pragma once

#include "measure/engine.h"
#include "measure/routed/routed.h"

namespace comm_probe::measure::nccl {

core::Result<RoutedRun> run_routed(const RoutedPlan& plan, const Progress& progress);

}  // namespace comm_probe::measure::nccl
