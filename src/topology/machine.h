// Machine: one host (or one NVLink domain of several hosts) as a graph. Nodes are CPUs (one per
// NUMA node), PCIe switches, GPUs, the NVSwitch fabric, NICs and their network ports; links are
// directed. Nodes and links keep the order in which NCCL walks them, because NCCL breaks ties by it
// (NCCL 2.28.9 src/graph/topo.cc).
//
// A link has three bandwidths, one direction each, that are never mixed:
//   nominal    what the standard says:   PCIe gen5 x16  64 GB/s
//   nccl       what NCCL reckons with:   PCIe gen5 x16  48 GB/s   (a 32-bit float, see NcclRate)
//   effective  after protocol overhead:  PCIe gen5 x16  56 GB/s at MPS 256
//
// Worked example (tests/unit/topology): DGX H100 has 2 CPUs, 8 switches, 8 GPUs, 1 NVS, 8 NICs, 8
// nets; GPU 0 -> NVS is 18 x 20.6 = 370.8 GB/s for NCCL, 450 GB/s nominal.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/quantity.h"

namespace comm_probe::topology {

// GB/s in one direction as NCCL stores it. NCCL decides by comparing such floats with ==, so a
// double, or a bandwidth in B/s, would decide differently.
struct NcclRate {
  float GBps = 0;

  auto operator<=>(const NcclRate&) const = default;
  core::Bandwidth bandwidth() const { return core::Bandwidth::from_GBps(GBps); }
};

// The numbers are NCCL's; nodes are listed in this order.
enum class NodeType : std::uint8_t { kGpu, kPci, kNvs, kCpu, kNic, kNet };
inline constexpr int kNodeTypes = 6;
const char* node_type_name(NodeType type);  // "GPU"

enum class LinkType : std::uint8_t { kLoc = 0, kNvl = 1, kC2c = 3, kPci = 4, kSys = 9, kNet = 10 };

// The slot of a PCI function: the link to what stands above it.
struct PciSlot {
  std::string speed = {};  // "32.0 GT/s PCIe" as the source prints it; empty where not known
  int width = 0;           // lanes; 0 where not known
};

struct Gpu {
  std::optional<int> rank = {};  // of the communicator; absent: no rank uses this GPU
  std::optional<int> dev = {};   // NVML index
  std::optional<int> sm = {};    // compute capability, 90 = 9.0
  bool gdr = false;              // can do GPUDirect RDMA
};

struct PciSwitch {
  std::uint64_t device = 0;  // vendor, device, subsystem vendor, subsystem device, 16 bits each
};

struct NvSwitch {};

struct Cpu {
  enum class Arch { kUnknown = 0, kX86 = 1, kPower = 2, kArm = 3 };
  enum class Vendor { kUnknown = -1, kIntel = 1, kAmd = 2, kZhaoxin = 3 };

  int numa = -1;
  Arch arch = Arch::kUnknown;
  Vendor vendor = Vendor::kUnknown;
  int family_id = 0;
  int model_id = 0;
  std::string affinity = {};  // hex words, highest first
};

struct Nic {};

struct Net {
  std::string name = {};
  std::optional<int> dev = {};  // index in NCCL's network plugin; absent: the plugin lacks it
  core::Bandwidth speed = {};
  int port = 0;
  std::uint64_t asic = 0;  // equal for the ports of one card: its GUID, or the node's own id
  core::Duration latency = {};
  bool gdr = false;
  bool coll = false;  // offers collective offload
};

struct Link {
  LinkType type = LinkType::kLoc;
  int remote = 0;  // index of a node
  int count = 1;   // of NVLinks or C2C links that it stands for
  NcclRate nccl = {};
  std::optional<core::Bandwidth> nominal = {};
  std::optional<core::Bandwidth> effective = {};
};

struct Node {
  // In the order of NodeType.
  using Kind = std::variant<Gpu, PciSwitch, NvSwitch, Cpu, Nic, Net>;

  Kind kind = Gpu{};
  int host = 0;             // index of the host in a domain of several
  std::uint64_t local = 0;  // within its host: bus id, NUMA id or net index
  std::string bus_id = {};  // "0000:18:00.0"; empty where the node has none
  PciSlot slot = {};
  std::optional<std::uint64_t> line = {};  // in the source, where it has lines
  std::vector<Link> links = {};

  NodeType type() const { return static_cast<NodeType>(kind.index()); }
  template <class T>
  const T& as() const {
    return std::get<T>(kind);
  }
};

class Machine {
 public:
  std::string name = {};         // of the file, where it says one
  std::vector<Node> nodes = {};  // links hold indices into this

  // Indices of the nodes of a type, in NCCL's index order.
  const std::vector<int>& of(NodeType type) const {
    return by_type_[static_cast<std::size_t>(type)];
  }
  int count(NodeType type) const { return static_cast<int>(of(type).size()); }
  int hosts() const { return hosts_; }
  const Node& node(int index) const { return nodes[static_cast<std::size_t>(index)]; }
  Node& node(int index) { return nodes[static_cast<std::size_t>(index)]; }
  // The place of a node among those of its type.
  int index_in_type(int node) const { return place_[static_cast<std::size_t>(node)]; }

  int add(Node node);
  // The same machine without the nodes for which `gone` is true; order is kept.
  Machine without(const std::vector<bool>& gone) const;

  // As people say it: "GPU0", "mlx5_0", "CPU0", "switch 0000:10:00.0", "NVSwitch".
  std::string device_name(int node) const;

 private:
  std::array<std::vector<int>, kNodeTypes> by_type_ = {};
  std::vector<int> place_ = {};
  int hosts_ = 0;
};

}  // namespace comm_probe::topology
