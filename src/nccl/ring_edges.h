// RingEdges: what carries each edge of a ring that begins or ends on node 0, in the words of NCCL's
// "Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM" (NCCL 2.28.9 src/transport/{p2p,shm,net}.cc; with
// cuMem, host buffers, one process per GPU).
//
//   DGX H100, two nodes, channel 0: 0 -> 7 P2P/CUMEM, ..., 1 -> 9 NET/1/GDRDMA
#pragma once

#include <string>
#include <vector>

#include "nccl/job_plan.h"

namespace comm_probe::nccl {

struct RingEdge {
  int channel = 0;
  int from = 0;  // ranks; at least one of the two is on node 0
  int to = 0;
  std::string via = {};  // "P2P/CUMEM/read", "SHM/direct/direct", "NET/0(3)/GDRDMA"
};

// Of the search channels in use, in ring order from the rank that receives from the network, else
// from the first.
std::vector<RingEdge> ring_edges(const JobPlan& plan);

}  // namespace comm_probe::nccl
