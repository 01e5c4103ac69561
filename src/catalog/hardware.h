// The parts of a GPU machine as the catalog knows them: GPU, NIC, CPU, machine. Plain records;
// every number carries its source. catalog.h finds them, machine_figures.h computes with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/links.h"
#include "core/quantity.h"

namespace comm_probe::catalog {

struct Gpu {
  std::string name = {};                  // "H100-SXM"
  std::vector<std::string> aliases = {};  // "H100"
  // As nvidia-smi and nccl-tests print it: "NVIDIA H100 80GB HBM3"
  std::vector<std::string> printed = {};
  int sm = 0;                                            // 90 = compute capability 9.0; 0 for AMD
  core::Sourced<core::Bytes> memory = {};                // as marketed
  core::Sourced<core::Bandwidth> memory_bandwidth = {};  // read and written together
  std::optional<GpuLinks> links = {};                    // NVLink; absent: PCIe only
  std::optional<PcieLink> pcie = {};                     // absent: no PCIe (GB10)
  std::string pci_vendor = {};                           // "0x10de"
  std::string pci_device = {};                           // "0x2330"
  int bf16_tflops = 0;                                   // dense, as marketed; 0: not known
  bool can_gdr = true;                                   // GPUDirect RDMA
  std::string source = {};
  std::string note = {};  // what a user of the numbers should know
};

struct Nic {
  std::string name = {};  // "ConnectX-7"
  std::vector<std::string> aliases = {};
  int ports = 1;
  core::Sourced<core::Bandwidth> port_rate = {};  // one direction
  PcieLink pcie = {};
  std::string device_name = {};  // as NCCL prints it, number appended: "mlx5_"
  std::string pci_class = {};    // "0x020700" InfiniBand, "0x020000" Ethernet
  std::string pci_vendor = {};
  std::string pci_device = {};
  bool can_rdma = true;
  core::Duration nccl_latency = {};  // what the network plugin tells NCCL; 0 for InfiniBand
  std::string source = {};
  std::string note = {};
  core::Bandwidth rate() const { return port_rate.value * ports; }  // all ports, one direction
};

struct Cpu {
  std::string name = {};    // "Intel Sapphire Rapids"
  std::string arch = {};    // "x86_64", "arm64": NCCL's words
  std::string vendor = {};  // "GenuineIntel"; empty where NCCL reads none
  int family = 0;
  int model = 0;
  std::string socket_link = {};                          // name in socket_links()
  core::Sourced<core::Bandwidth> memory_bandwidth = {};  // of one socket, theoretical
  std::string source = {};
  std::string note = {};  // what a user of the numbers should know
};

// How the GPUs of one machine reach each other.
enum class Fabric {
  kNvswitch,  // every GPU to every other at full NVLink rate
  kMesh,      // direct links to several or all others
  kBridge,    // direct links in pairs, PCIe between pairs
  kPcie,      // no GPU links
  kC2c,       // one GPU with its CPU over NVLink-C2C
};
const char* fabric_name(Fabric fabric);  // "nvswitch" | "mesh" | "bridge" | ...
std::optional<Fabric> fabric_from_name(std::string_view name);

// The PCIe tree below one root port (switched) or the devices of one NUMA node on root ports of
// their own; numbers count the machine's GPUs and nets from 0.
struct Branch {
  enum class Kind {
    kRootPorts,       // every device on its own root port
    kSwitch,          // one switch: PIX
    kSwitchTwoLevel,  // every device below its own second switch: PXB
  };
  int numa = 0;
  Kind kind = Kind::kSwitch;
  std::optional<PcieLink> uplink = {};  // of the switch; absent: the widest of its devices
  std::vector<int> gpus = {};
  std::vector<int> nets = {};
};

// Direct NVLinks between two GPUs of one machine.
struct GpuPair {
  int first = 0;
  int second = 0;
  int links = 0;
};

struct Machine {
  std::string name = {};  // "dgx-h100"
  std::vector<std::string> aliases = {};
  std::string description = {};
  Gpu gpu = {};
  int gpus = 0;
  Fabric fabric = Fabric::kPcie;
  std::vector<int> switch_links = {};   // NVLinks of one GPU to each NVSwitch: {5, 4, 4, 5}
  std::vector<GpuPair> gpu_pairs = {};  // mesh and bridge
  int scale_up_gpus = 0;                // GPUs in one NVLink domain; above `gpus` for NVL72
  int c2c_links = 0;                    // NVLink-C2C links of one GPU to its CPU
  core::Sourced<core::Bandwidth> c2c_per_link = {};
  Cpu cpu = {};
  int sockets = 1;
  // The PCIe generation of the host side, where it is below that of GPU or NIC (P5: gen5 GPU on a
  // gen4 host); absent: the devices' own.
  std::optional<PcieLink> host_pcie = {};
  Nic nic = {};
  int nics = 0;          // physical NICs for GPU traffic (storage and management left out)
  int nics_per_net = 1;  // NICs that the network plugin shows to NCCL as one
  bool gdr = true;
  std::vector<Branch> branches = {};
  std::string source = {};
  std::string note = {};

  // Devices as NCCL counts them: each port of a NIC, or a group of NICs.
  int nets() const { return nics * nic.ports / nics_per_net; }
};

}  // namespace comm_probe::catalog
