// A Machine out of facts: the PCI tree as NCCL would detect it (NCCL 2.28.9 src/graph/xml.cc).
//
//   A PCIe switch shows two bridges, an upstream and a downstream port; NCCL takes every second
//   function above a device, so that one switch is one node (its upstream port) and a root port
//   none. The link of a node is the lesser of what it and the bridge above can do at most; the
//   trained width stays in HostFacts. All functions of a card stand under its function 0. A device
//   whose NUMA node is not known belongs to the only one, or to CPU -1 where there are several.
//
// RDMA ports that are active get a plugin index; without any, interfaces that are up get one
// (NCCL's socket transport). No GPU has a rank: there is no communicator here.
#pragma once

#include "core/result.h"
#include "topology/host_facts.h"

namespace comm_probe::topology {

// Fails where there are more than 576 GPUs or NICs, or where bridges stand above each other in a
// circle.
core::Result<Machine> assemble(const HostFacts& facts);

}  // namespace comm_probe::topology
