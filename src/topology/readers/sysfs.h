// What the kernel says of this machine: PCI functions with the bridge above each, links, ACS, NUMA
// nodes, network and RDMA ports, IOMMU, drivers and limits. Paths: kernel ABI documents
// sysfs-bus-pci, sysfs-class-infiniband, sysfs-class-net, sysfs-kernel-iommu_groups.
//
//   /sys/bus/pci/devices/0000:18:00.0 -> ../../../devices/pci0000:15/0000:15:01.0/0000:18:00.0
//     above 0000:18:00.0 stands 0000:15:01.0, above that the root complex
//
// ACS is in the extended configuration space, which only root may read: elsewhere it is unknown.
#pragma once

#include "core/host.h"
#include "topology/host_facts.h"

namespace comm_probe::topology {

// Sorted by bus id. Details (link, NUMA node) are read for GPUs, NICs, bridges and NVSwitches.
std::vector<PciFunction> read_pci_functions(const core::Host& host);
std::vector<RdmaPortFacts> read_rdma_port_facts(const core::Host& host);
// Interfaces with a device behind them; loopback, bridges and bonds have none.
std::vector<InterfaceFacts> read_interface_facts(const core::Host& host);
// IOMMU, peermem, driver, locked memory, container, virtual machine, GID index.
void read_settings_facts(const core::Host& host, HostFacts& facts);

// The bus id of the PCI function that a class device ("/sys/class/net/eth0") belongs to.
std::string pci_function_of(const core::Host& host, const std::string& class_device);

}  // namespace comm_probe::topology
