// HostFacts: what sources other than a ready graph say of one machine, record by record, each with
// the place it was read: PCI functions and the bridge above each, NUMA nodes, network and RDMA
// ports, NVLinks, P2P status, and the settings of kernel and drivers that decide whether devices
// may talk directly. Nothing is judged here; what a source does not say is absent.
//
//   /sys of a DGX H100: GPU 0000:18:00.0, above it the downstream port 0000:17:00.0, above that
//   the upstream port 0000:16:00.0 of the switch, above that the root port 0000:15:01.0.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"
#include "topology/host_topology.h"
#include "topology/machine.h"

namespace comm_probe::topology {

template <class T>
struct Fact {
  T value = {};
  core::Evidence from = {};
};
template <class T>
using MaybeFact = std::optional<Fact<T>>;

// The control register of a bridge's Access Control Services (PCIe 6.0, 7.7.8.3).
struct AccessControl {
  bool source_validation = false;
  bool translation_blocking = false;
  bool request_redirect = false;
  bool completion_redirect = false;
  bool upstream_forwarding = false;
  bool egress_control = false;
  bool direct_translated = false;

  bool operator==(const AccessControl&) const = default;
  static AccessControl of_register(unsigned bits);
  // Peer traffic leaves the switch and goes up to the root complex.
  bool redirects() const { return request_redirect || completion_redirect || upstream_forwarding; }
  // As lspci prints it: "SrcValid+ TransBlk- ReqRedir+ ..."
  std::string printed() const;
};

struct PciFunction {
  enum class Kind { kGpu, kNic, kBridge, kNvSwitch, kOther };
  Kind kind = Kind::kOther;
  std::string bus_id = {};                // "0000:18:00.0"
  std::optional<std::string> above = {};  // the bridge above; "" is the root complex
  std::string code = {};                  // "0x030200"; empty where not known, as those below
  std::string vendor = {};                // "0x10de"
  std::string device = {};
  std::string subsystem_vendor = {};
  std::string subsystem_device = {};
  std::string name = {};  // as lspci says it
  std::optional<int> numa = {};
  PciLink current = {};
  PciLink maximum = {};
  std::optional<AccessControl> access_control = {};
  core::Evidence from = {};
};

struct GpuFacts {
  int index = 0;  // as NVML and nvidia-smi count
  std::string bus_id = {};
  std::string name = {};          // "NVIDIA H200"
  std::optional<int> sm = {};     // 90 = 9.0
  std::string fabric_state = {};  // "completed", "in progress"; empty where there is none
  core::Evidence from = {};
};

struct NvlinkState {
  enum class Remote { kUnknown, kGpu, kSwitch, kCpu };
  int gpu = 0;
  int link = 0;
  bool is_active = false;
  std::optional<int> version = {};
  std::optional<core::Bandwidth> speed = {};  // one direction
  Remote remote = Remote::kUnknown;
  std::string remote_bus_id = {};
  core::Evidence from = {};
};

// One cell of `nvidia-smi topo -p2p r|w|n|a|p`.
struct PeerStatus {
  int from = 0;
  int to = 0;
  char capability = 'r';    // r read, w write, n NVLink, a atomics, p PCIe
  std::string status = {};  // "OK", "NS", "CNS", ...
  core::Evidence evidence = {};
};

struct GidEntry {
  int index = 0;
  std::string gid = {};     // eight groups of four hex digits
  std::string type = {};    // "RoCE v2", "IB/RoCE v1"; empty where not known
  std::string netdev = {};  // interface
};

// What shows that a RoCE port is lossless or backs off: flow control by priority, congestion marks.
struct LosslessSigns {
  std::optional<bool> priority_flow_control = {};
  std::optional<bool> congestion_notification = {};
};

struct RdmaPortFacts {
  std::string device = {};  // "mlx5_0"
  int port = 1;
  std::string bus_id = {};
  std::string state = {};           // "ACTIVE", "DOWN", "INIT"
  std::string physical_state = {};  // "LinkUp", "Disabled", "Polling"
  std::string link_layer = {};      // "InfiniBand" | "Ethernet"
  std::string guid = {};            // of the card, hex digits only
  std::string model = {};           // of the card: "MT4129"
  std::string interface = {};       // "ens1f0np0"
  std::optional<core::Bandwidth> rate = {};
  std::optional<core::Bytes> active_mtu = {};
  std::vector<GidEntry> gids = {};  // those that are not empty
  core::Evidence gids_from = {};    // where another source than `from` says them
  LosslessSigns signs = {};
  core::Evidence from = {};

  // "mlx5_0", "mlx5_0:2": as devices are named that stand for a port.
  std::string name() const;
  // By its own name, by "mlx5_0:1", or by its card alone, which means each of the card's ports.
  bool is_named(std::string_view text) const;
  bool is_active() const { return state == "ACTIVE"; }
  bool is_roce() const { return link_layer == "Ethernet"; }
};

struct InterfaceFacts {
  std::string name = {};
  std::string bus_id = {};  // empty: no PCI device stands behind it
  bool is_up = false;
  std::optional<core::Bandwidth> speed = {};
  core::Evidence from = {};
};

// An interface as `ip link` and `ip addr` show it, those without a device behind them too.
struct LinkFacts {
  std::string host = {};  // where the line says it ("node07: 2: ens1f0: <...>")
  std::string name = {};
  std::string bus_id = {};      // "parentdev" of `ip -d link`
  std::string master = {};      // the bond or bridge that it is a port of
  bool is_bond_port = false;    // SLAVE
  bool is_switched_on = false;  // UP: somebody brought it up
  bool has_carrier = false;     // LOWER_UP
  bool is_infiniband = false;   // IPoIB, whose MTU is none of RDMA
  // False: a bond, bridge, pair or tunnel; nothing: the text does not tell.
  std::optional<bool> is_of_card = {};
  bool has_address = false;  // an IP address, other than link-local
  std::optional<core::Bytes> mtu = {};
  core::Evidence from = {};
};

// The same of an interface, from a text: `ethtool -S`, `mlnx_qos -i`.
struct LosslessFacts {
  std::string interface = {};  // empty where the text does not say it
  LosslessSigns signs = {};
  core::Evidence from = {};
};

enum class IommuMode { kOff, kPassThrough, kTranslated };
const char* iommu_mode_name(IommuMode mode);  // "off", "pass-through", "translated"

// RLIMIT_MEMLOCK; absent = unlimited.
using LockedMemory = std::optional<core::Bytes>;

struct HostFacts {
  std::vector<PciFunction> functions = {};  // sorted by bus id
  std::vector<GpuFacts> gpus = {};          // by index
  std::vector<NvlinkState> nvlinks = {};
  std::vector<PeerStatus> peers = {};
  std::vector<RdmaPortFacts> rdma_ports = {};
  std::vector<InterfaceFacts> interfaces = {};  // with a device behind them
  std::vector<LinkFacts> links = {};
  std::vector<LosslessFacts> lossless = {};
  std::vector<NumaNode> numa_nodes = {};
  // Bridges that a source shows without their bus id (`lspci -vv | grep ACSCtl`).
  std::vector<Fact<AccessControl>> unnamed_access_controls = {};
  std::optional<Processor> processor = {};
  MaybeFact<IommuMode> iommu = {};
  MaybeFact<bool> peermem = {};      // nvidia_peermem or nv_peer_mem is loaded
  MaybeFact<bool> open_driver = {};  // open kernel modules, which DMA-BUF needs
  MaybeFact<LockedMemory> locked_memory = {};
  MaybeFact<bool> container = {};
  MaybeFact<bool> virtual_machine = {};
  MaybeFact<int> gid_index = {};  // NCCL_IB_GID_INDEX
  std::vector<core::Caveat> caveats = {};

  const PciFunction* function(const std::string& bus_id) const;
  const GpuFacts* gpu(int index) const;
  bool empty() const;
  // The interface of an RDMA port of this host; null where no text shows it.
  const LinkFacts* link_of(const RdmaPortFacts& port) const;
};

// Bridges that send peer traffic up to the root complex (ACS redirect) although it could turn
// inside a switch: those that lead to a GPU or NIC, and those of which the source does not say what
// they lead to. Root ports do not count, peer traffic between them passes the root complex anyway.
struct Redirects {
  std::vector<core::Evidence> in_switches = {};
  std::vector<core::Evidence> unplaced = {};
  int read = 0;   // bridges whose ACS was read, of any place
  int asked = 0;  // those of them that could stand in the way: inside a switch, or unplaced

  int redirecting() const { return static_cast<int>(in_switches.size() + unplaced.size()); }
};
Redirects redirects_of(const HostFacts& facts);

// "18:00.0", "00000000:18:00.0" and "0000:18:00.0" are one; empty where it is no bus id.
std::string normal_bus_id(std::string_view text);

}  // namespace comm_probe::topology
