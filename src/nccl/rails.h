// Which NIC carries what GPU g sends to GPU k of another node, outside of collectives? NCCL sends
// on the rail of the receiver: the NIC that GPU k has on its own node, reached over NVLink through
// the neighbour whose NIC it is (PXN), where that is allowed; else on its own NIC, across rails
// (NCCL 2.28.9 src/graph/search.cc, ncclTopoGetNetDev). All nodes are alike. A rail is the NICs of
// one index in NCCL's network plugin, on whichever host of an NVLink domain.
//
//   DGX H100: 64 pairs (g, k): 8 direct, 56 by a neighbour, none across
//   without NVLink, or with NCCL_PXN_DISABLE=1: 8 direct, 56 across
#pragma once

#include <optional>
#include <vector>

#include "nccl/reach.h"

namespace comm_probe::nccl {

// A GPU of the node and the NIC of its first channel.
struct RailOfGpu {
  int domain = 0;  // index of the reach that it belongs to
  int gpu = 0;     // index there
  std::optional<int> net = {};
  std::optional<int> rail = {};
};

struct Rails {
  std::vector<RailOfGpu> gpus = {};  // by domain, then index
  int count = 0;                     // different rails among them
  int direct = 0;                    // pairs whose sender has the receiver's rail itself
  int by_neighbour = 0;              // PXN
  int across = 0;                    // leave on another rail than the receiver's
};

// One reach for each domain of a node: those of every_domain().
Rails rails_of(const std::vector<Reach>& domains);
// The machine as each domain's ranks see it, that of local rank 0 first.
core::Result<std::vector<Reach>> every_domain(const JobReach& job);

// The machine with a rank for every GPU, where no GPU has one: what a file for NCCL_TOPO_FILE
// describes is one job on the whole machine. GPUs and NICs of it are taken to do GPUDirect RDMA.
topology::Machine as_one_job(const topology::Machine& machine);

}  // namespace comm_probe::nccl
