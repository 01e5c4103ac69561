// Four ways from the memory of a GPU to the network, each as a ledger: TCP, RDMA through a staging
// buffer in host memory, RDMA straight from the GPU (GPUDirect RDMA) inside a switch or across the
// CPU.
//   straight   b = min(NIC, GPU link, NIC link)
//   staged     b = min(NIC, GPU link, uplink / (s * dir), NIC link, usable memory / (a * P * dir))
//   TCP        the same with a = 4, and the cores: cores * rate per core / (8 * P * dir)
//   across     b = min(NIC, GPU link, NIC link, uplink / s): straight, but through the CPU
//              (PHB, SYS), once up the GPU's uplink and once down the NIC's
// a = accesses to host memory per byte (4 TCP, 2 staged, 0 straight), P = GPU-NIC pairs at work on
// one memory, s = pairs behind one uplink, dir = 1 one way, 2 both ways (each path's b is one way).
// The counts are of one end; the receiving end mirrors them. Units: one direction, 10^9 B/s.
// Worked example (golden G3-08, G3-05): A100 on PCIe 4.0 with HDR: straight 25 GB/s nominal; TCP on
// 8 NDR NICs moves 8 x 50 x 4 = 1.6 TB/s through host memory.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "catalog/links.h"
#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::model {

enum class DataPath { kTcp, kRdmaStaged, kRdmaDirect, kRdmaAcross };
// "tcp" | "rdma" | "rdma-gdr" | "rdma-gdr-cpu"
const char* data_path_name(DataPath path);

enum class Transport { kInfiniBand, kRoce };

// What is done to every byte on one end.
struct PathCounts {
  DataPath path;
  int copies;            // by GPU copy engine or CPU
  int memory_accesses;   // of host memory, per byte
  int gpu_crossings;     // of the GPU's PCIe link
  int uplink_crossings;  // of the switch's link to the CPU, both directions counted
  int nic_crossings;
  const char* steps;
  const char* source;
};
std::span<const PathCounts> path_counts();
const PathCounts& counts_of(DataPath path);

// One message; the range that a healthy network shows.
struct LatencyRange {
  core::Duration low = {};
  core::Duration high = {};
  const char* source = "";
};
LatencyRange path_latency(DataPath path, Transport transport);

// Share of the line that carries data: MTU / (MTU + headers); 28 B InfiniBand, 82 B RoCE v2.
double packet_payload_share(Transport transport, core::Bytes mtu);

struct PathMachine {
  core::Bandwidth nic = {};  // line rate, one direction
  Transport transport = Transport::kInfiniBand;
  core::Bytes mtu = core::Bytes::of(4096);
  catalog::PcieLink gpu_link = catalog::pcie(4, 16);
  catalog::PcieLink uplink = catalog::pcie(4, 16);
  catalog::PcieLink nic_link = catalog::pcie(4, 16);
  core::Bytes max_payload = core::Bytes::of(256);   // MPS of the PCIe packets
  core::Sourced<core::Bandwidth> host_memory = {};  // of all sockets, theoretical
  double usable_memory = 0.8;  // share that copies reach (assumed; STREAM reaches 75 to 85 %)
  int pairs = 8;
  int pairs_per_uplink = 1;
  int directions = 1;
  int cores = 64;
  core::Bandwidth per_core = core::Bandwidth::from_Gbps(15);
};

// Something that bounds the rate of one pair.
struct Ceiling {
  std::string name = {};  // "NIC", "host memory"
  core::Bandwidth rate = {};
};

struct PathLedger {
  PathCounts counts;
  core::Bandwidth nominal = {};        // NIC and PCIe as they are named, nothing else
  std::vector<Ceiling> ceilings = {};  // with overheads, memory, cores; at least one
  LatencyRange latency = {};
  core::Bandwidth memory_traffic = {};  // of all pairs at the line rate of the NICs
  double cores_needed = 0;              // to fill the NICs of all pairs; 1 per NIC with RDMA

  const Ceiling& limit() const;  // the lowest
  core::Bandwidth effective() const { return limit().rate; }
};
// One of `path`; refuses counts below 1, more pairs behind an uplink than there are, a rate of
// nothing, MTU and MPS outside 128..4096 B.
core::Result<PathLedger> price_path(DataPath path, const PathMachine& machine);

// The share of the NIC that a ceiling leaves unused: 1 - ceiling / NIC, not below 0 (golden
// GA-04b).
double wasted_share(core::Bandwidth ceiling, core::Bandwidth nic);

// Cores that one line needs: rate / rate of one core. 400 Gb/s at 10 to 26.7 Gb/s per core needs 40
// to 15 (golden G3-06: that rate is the hidden input).
double cores_to_fill(core::Bandwidth line, core::Bandwidth per_core);

// Theoretical host memory where none is given: a table by PCIe generation, GPU and NIC.
core::Sourced<core::Bandwidth> assumed_host_memory(int pcie_generation, int sm,
                                                   core::Bandwidth nic);

}  // namespace comm_probe::model
