// What NCCL's own choice of NICs says about a machine: GPUs whose NIC hangs on another NUMA node.
// That is how a box is built, so information.
//
//   two sockets, one NIC: the GPUs of the other socket -> topo.nic-other-numa
#pragma once

#include "diagnose/topo.h"
#include "nccl/nccl.h"

namespace comm_probe::diagnose {

// Adds to what judge_topology found.
void judge_job(const topology::Survey& survey, const std::vector<nccl::Reach>& domains,
               TopoJudgement& judgement);

}  // namespace comm_probe::diagnose
