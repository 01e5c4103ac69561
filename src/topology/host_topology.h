// HostTopology: the plain list of what one machine has. Sources: /proc/cpuinfo, /proc/self (allowed
// CPUs), /sys/devices/system/{cpu,node}, cgroup quotas (v1 and v2), /sys/bus/pci/devices (GPU:
// class 0x0300 and 0x0302; NIC: 0x0200 and 0x0207; PCI Code and ID Assignment 1.11),
// /sys/class/{net,infiniband}. Sizes in bytes, link speeds per lane and direction.
//
//   HostTopology t = read_host(core::Host::real());
//   t.cache(2)->size == 1_MiB, t.usable_cpus() == 2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/host.h"
#include "core/quantity.h"

namespace comm_probe::topology {

struct Cache {
  int level = 0;
  bool holds_data = true;  // data or unified; false: instructions only
  core::Bytes size = {};
  std::vector<int> cpus = {};  // that share this instance
};

struct Processor {
  std::string vendor = {};      // "AuthenticAMD"; empty where not readable
  std::string model_name = {};  // "AMD EPYC 9554 64-Core Processor"
  std::optional<int> family = {};
  std::optional<int> model = {};
  std::optional<int> sockets = {};
  std::optional<int> cores = {};
  bool is_virtual = false;    // the CPU says that a hypervisor runs below
  std::string governor = {};  // of CPU 0: "performance"; empty where there is none
};

struct NumaNode {
  int id = 0;
  std::vector<int> cpus = {};
  std::optional<core::Bytes> memory = {};
  std::vector<int> distances = {};  // to every node, 10 = itself
};

struct PciLink {
  std::string speed = {};  // "32.0 GT/s PCIe" as the kernel says it
  std::optional<int> width = {};
};

struct PciDevice {
  enum class Kind { kGpu, kNic };
  Kind kind = Kind::kGpu;
  std::string address = {};  // "0000:18:00.0"
  std::string vendor = {};   // "0x10de"
  std::string device = {};   // "0x2330"
  std::optional<int> numa_node = {};
  PciLink current = {};
  PciLink maximum = {};
};

struct NetInterface {
  std::string name = {};
  bool is_up = false;
  bool is_virtual = false;  // lo, bridges: no device below
  std::optional<core::Bandwidth> speed = {};
};

struct RdmaPort {
  std::string device = {};  // "mlx5_0"
  int port = 1;
  std::string state = {};       // "ACTIVE"
  std::string link_layer = {};  // "InfiniBand" | "Ethernet"
  std::optional<core::Bandwidth> rate = {};
};

struct HostTopology {
  std::string name = {};  // core::Host::name()
  Processor processor = {};
  std::vector<int> cpus = {};        // online
  std::vector<int> allowed = {};     // this process may run on (affinity)
  std::optional<double> quota = {};  // CPUs' worth of time that the cgroup grants
  std::vector<Cache> caches = {};    // every instance once
  std::optional<core::Bytes> memory = {};
  std::vector<NumaNode> nodes = {};
  std::vector<PciDevice> devices = {};
  std::vector<NetInterface> interfaces = {};
  std::vector<RdmaPort> rdma_ports = {};
  std::vector<core::Caveat> caveats = {};

  // The data cache of a level that the first allowed CPU uses; nothing where it is not known.
  const Cache* cache(int level) const;
  // CPUs that this process can use at the same time: the smaller of affinity and quota.
  double usable_cpus() const;
  int gpus() const;
  int nics() const;
};

HostTopology read_host(const core::Host& host);

}  // namespace comm_probe::topology
