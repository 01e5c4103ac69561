// Which NIC carries what GPU g sends to GPU k of another node, outside of collectives? NCCL sends
// on the rail of the receiver: the NIC that GPU k has on its own node, reached over NVLink through
// the neighbour whose NIC it is (PXN), where that is allowed; else on its own NIC, across rails
// (NCCL 2.28.9 src/graph/search.cc, ncclTopoGetNetDev). All nodes are alike.
//
//   DGX H100: 64 pairs (g, k): 8 direct, 56 by a neighbour, none across
//   without NVLink, or with NCCL_PXN_DISABLE=1: 8 direct, 56 across
#pragma once

#include <optional>
#include <vector>

#include "nccl/reach.h"

namespace comm_probe::nccl {

struct Rails {
  std::vector<std::optional<int>> net_of_gpu = {};  // first channel
  int count = 0;                                    // different NICs among them
  int direct = 0;        // pairs whose sender has the receiver's rail itself
  int by_neighbour = 0;  // PXN
  int across = 0;        // leave on another rail than the receiver's
};

Rails rails_of(const Reach& reach);

// The machine with a rank for every GPU, where no GPU has one: what a file for NCCL_TOPO_FILE or a
// live reading describes is one job on the whole machine. GPUs and NICs that do not say whether
// they can do GPUDirect RDMA are taken to.
topology::Machine as_one_job(const topology::Machine& machine);

}  // namespace comm_probe::nccl
