// What "a node" of a machine is. Two sizes, which differ where several hosts stand in one NVLink
// domain, and every command that needs one takes it from here:
//   host    one operating system: what an engine's same-node test sees, what CUDA IPC maps, where
//           shared memory reaches
//   domain  the GPUs that NVLink joins: bytes between them stay off the NIC
//
//   dgx-h100          host 8, domain 8
//   gb200-nvl72-tray  host 4, domain 72 (18 hosts)
#pragma once

#include <string>

#include "catalog/hardware.h"

namespace comm_probe::catalog {

struct NodeSizes {
  int host = 1;    // GPUs
  int domain = 1;  // GPUs

  int hosts() const { return domain / host; }
  bool are_one() const { return host == domain; }
  int hosts_for(int ranks) const { return (ranks + host - 1) / host; }
};
NodeSizes node_sizes(const Machine& machine);

// "18 hosts of 4 GPUs in one NVLink domain of 72"; empty where a host is a domain.
std::string domain_text(const NodeSizes& sizes);

}  // namespace comm_probe::catalog
