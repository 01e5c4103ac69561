// What follows from the facts of a machine: how much one GPU can send to its neighbours and to the
// network. All values are one direction, at the rate of the links (no protocol overhead).
//
//   DGX H100: intra_node_one_way 450 GB/s (18 x 25), nic_total 400 GB/s (8 x 50),
//   nic_share 50 GB/s, nvlink_over_nic 9 (golden G2-14); DGX A100 12 (G2-15).
#pragma once

#include <optional>
#include <string>

#include "catalog/hardware.h"

namespace comm_probe::catalog {

// What one GPU can send to the other GPUs of the machine: all its links that are used here, or,
// where links join no more than pairs, its PCIe link after packet overhead (MPS 256). Nothing with
// one GPU.
std::optional<core::Sourced<core::Bandwidth>> intra_node_one_way(const Machine& machine);
// What two directly joined GPUs can send to each other: 100 GB/s on an HGX A100 4-GPU, 300 over the
// bridge of two A100 PCIe. The first pair's; nothing without direct links.
std::optional<core::Sourced<core::Bandwidth>> pair_one_way(const Machine& machine);
// What the first `ranks` GPUs can send to each other, each of them: with every channel a ring has,
// to one partner, to all at once (the slowest peer sets the pace).
struct InsideRates {
  core::Bandwidth ring = {};
  core::Bandwidth one_peer = {};
  core::Bandwidth all_peers = {};
  bool over_links = false;  // else PCIe
  std::string gpus = {};    // "GPUs 0 to 3", where it matters which; else empty
};
// Two GPUs of a mesh or a bridge have the links between them: 100 GB/s on an HGX A100 4-GPU, 25 on
// a DGX-1V. Nothing where no link is known.
std::optional<InsideRates> inside_rates(const Machine& machine, int ranks);

// How many hosts stand in one NVLink domain and share the links inside: 18 for GB200 NVL72, else 1.
int trays_of_domain(const Machine& machine);

// The way out of a node (of an NVLink domain, where that is larger) for its first `ranks` GPUs.
// Each GPU uses the NICs nearest to it; those of idle GPUs stay idle. A NIC gives its line rate, at
// most what its own slot lets through; a GPU at most its PCIe link. The host side of PCIe counts
// only where GPU and NIC hang on root ports: below one switch the bytes do not pass the host.
struct NetworkOut {
  int nics = 0;                   // in use
  int rails = 0;                  // the same as NCCL counts them: ports, or groups of NICs
  core::Bandwidth nic = {};       // one NIC
  core::Bandwidth total = {};     // all in use
  core::Bandwidth per_rank = {};  // total over the ranks
};
NetworkOut network_out(const Machine& machine, int ranks);

// All NICs of the machine; zero where it has none.
core::Sourced<core::Bandwidth> nic_total(const Machine& machine);
// The same over the GPUs.
core::Sourced<core::Bandwidth> nic_share(const Machine& machine);
// NVLink capacity of the machine over its NIC total; nothing where one of them is absent or links
// join no more than pairs.
std::optional<double> nvlink_over_nic(const Machine& machine);
// Rate of one NIC over its PCIe link, nominal by nominal: HDR on gen4 x16 0.78125 (golden G2-11).
double nic_over_pcie(core::Bandwidth nic_rate, const PcieLink& link);
// The PCIe link that a NIC really has in this machine: the lower generation of NIC and CPU side.
PcieLink slot_link(const PcieLink& device, const std::optional<PcieLink>& uplink);
// The theoretical bandwidth of all host memory.
core::Sourced<core::Bandwidth> host_memory_bandwidth(const Machine& machine);

}  // namespace comm_probe::catalog
