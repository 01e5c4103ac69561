// What NCCL's own choice of NICs says about a machine: GPUs whose NIC hangs on another NUMA node.
// That is how a box is built, so information.
//
//   two sockets, one NIC: the GPUs of the other socket -> topo.nic-other-numa
#pragma once

#include "diagnose/topo.h"
#include "nccl/nccl.h"

namespace comm_probe::diagnose {

// The machine of a survey as the ranks of a job on `nodes` machines like it see it: one rank for
// each GPU, without NICs whose port is down, with the pairs that the driver refuses. Fails where
// NCCL's own initialisation would.
core::Result<nccl::JobReach> reach_of_survey(const topology::Survey& survey, int nodes);

// Adds to what judge_topology found.
void judge_job(const topology::Survey& survey, const std::vector<nccl::Reach>& domains,
               TopoJudgement& judgement);

}  // namespace comm_probe::diagnose
