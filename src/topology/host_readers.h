// The readers below read_host, one per source; each returns what it could read.
#pragma once

#include "topology/host_topology.h"

namespace comm_probe::topology {

std::vector<int> read_cpus(const core::Host& host);
std::vector<int> read_allowed(const core::Host& host);
// The smallest quota between this process's cgroup and the root.
std::optional<double> read_quota(const core::Host& host);
Processor read_processor(const core::Host& host, const std::vector<int>& cpus);
std::vector<Cache> read_caches(const core::Host& host, const std::vector<int>& cpus);
std::vector<NumaNode> read_nodes(const core::Host& host);
std::optional<core::Bytes> read_memory(const core::Host& host);

std::vector<PciDevice> read_pci_devices(const core::Host& host);
std::vector<NetInterface> read_interfaces(const core::Host& host);
std::vector<RdmaPort> read_rdma_ports(const core::Host& host);

}  // namespace comm_probe::topology
