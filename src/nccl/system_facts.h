// What NCCL derives from all paths of a machine before it searches (NCCL 2.28.9 src/graph/search.cc
// ncclTopoSearchInit; src/graph/paths.cc).
//
//   best_path  the widest path to a net (job of several nodes) or between GPUs
//   gpu_total  the most that leaves one GPU: the sum of its NVLinks, or its PCIe link
//   DGX H100: 48 and 370.8 over two nodes, 370.8 and 370.8 on one; a lone GPU: 5000 and 5000
#pragma once

#include "nccl/reach.h"

namespace comm_probe::nccl {

struct SystemFacts {
  topology::NcclRate best_path = {};
  topology::NcclRate gpu_total = {};
  bool all_nvlink = true;      // no GPU pair is farther than NVLink by way of one GPU, or C2C
  bool all_direct_p2p = true;  // every pair may talk directly, without a relay
  bool all_driver_p2p = true;  // the driver reports P2P for every pair
};

SystemFacts system_facts(const Reach& reach);

}  // namespace comm_probe::nccl
