#include "diagnose/machine_of_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topology/paths.h"
#include "topology/standard_links.h"

namespace comm_probe::diagnose {
namespace {

using catalog::Fabric;
using catalog::GpuPair;
using topology::LinkType;
using topology::Node;
using topology::NodeType;

// Where the slot is not known nothing is limited by it.
const catalog::PcieLink kWidestSlot = catalog::pcie(6, 16);

class Reader {
 public:
  explicit Reader(const topology::Machine& topology) : topology_(topology) {}

  core::Result<catalog::Machine> read(const std::string& name) {
    machine_.name = name;
    machine_.source = name;
    if (topology_.count(NodeType::kGpu) == 0)
      return core::input_error(name + ": no GPU in it", "expected the topology of a GPU machine");
    for (const int gpu : topology_.of(NodeType::kGpu))
      if (topology_.node(gpu).as<topology::Gpu>().sm != first_gpu().as<topology::Gpu>().sm)
        return core::input_error(name + ": GPUs of several kinds in one machine",
                                 "name the rate of the slowest with --beta");
    read_gpus();
    if (!machine_.gpu.links && (!machine_.switch_links.empty() || !machine_.gpu_pairs.empty()))
      return core::input_error(
          fmt::format("{}: NVLinks of GPUs with compute capability {}.{}, whose rate is not known",
                      name, machine_.gpu.sm / 10, machine_.gpu.sm % 10),
          "name the rate with --beta, or the machine with --machine");
    read_nets();
    return machine_;
  }

 private:
  const Node& first_gpu() const { return topology_.node(topology_.of(NodeType::kGpu).front()); }

  // NVLinks of one GPU to the switches, and to each GPU after it.
  void read_gpus() {
    const int hosts = std::max(1, topology_.hosts());
    const int all = topology_.count(NodeType::kGpu);
    machine_.gpus = all / hosts;
    machine_.scale_up_gpus = hosts > 1 ? all : 0;
    machine_.gpu.sm = first_gpu().as<topology::Gpu>().sm.value_or(0);
    machine_.gpu.pcie = topology::standard_pcie(first_gpu().slot);
    int fewest_to_switches = 0, most_links = 0;
    for (int index = 0; index < all; ++index) {
      const int to_switches = read_links_of(index);
      fewest_to_switches = index == 0 ? to_switches : std::min(fewest_to_switches, to_switches);
      most_links = std::max(most_links, to_switches + links_to_gpus_[index]);
    }
    if (fewest_to_switches > 0) machine_.switch_links = {fewest_to_switches};
    machine_.gpu.links = topology::standard_nvlinks(machine_.gpu.sm, most_links);
    machine_.fabric = fabric();
  }

  int read_links_of(int index) {
    int to_switches = 0;
    for (const topology::Link& link : topology_.node(topology_.of(NodeType::kGpu)[index]).links) {
      if (link.type == LinkType::kC2c) machine_.c2c_links = link.count;
      if (link.type != LinkType::kNvl) continue;
      const Node& remote = topology_.node(link.remote);
      if (remote.type() == NodeType::kNvs) to_switches += link.count;
      if (remote.type() != NodeType::kGpu) continue;
      const int other = topology_.index_in_type(link.remote);
      links_to_gpus_[index] += link.count;
      if (other > index) machine_.gpu_pairs.push_back({index, other, link.count});
    }
    return to_switches;
  }

  Fabric fabric() const {
    if (!machine_.gpu.links) return Fabric::kPcie;
    if (!machine_.switch_links.empty()) return Fabric::kNvswitch;
    if (machine_.gpu_pairs.empty()) return Fabric::kPcie;
    std::map<int, int> partners;
    for (const GpuPair& pair : machine_.gpu_pairs) ++partners[pair.first], ++partners[pair.second];
    const bool in_pairs = std::all_of(partners.begin(), partners.end(),
                                      [](const auto& entry) { return entry.second == 1; });
    return in_pairs && machine_.gpus > 2 ? Fabric::kBridge : Fabric::kMesh;
  }

  // The ports that NCCL takes for some GPU, unlike ones at their mean, so that the total is right.
  // NCCL's XML lists every port, for storage and management too. A port that stands for several
  // NICs (AWS) has the slot of one of them: then the reference is lower than what the NICs together
  // can do, never higher.
  void read_nets() {
    machine_.nic.name = "NIC";
    machine_.nic.pcie = kWidestSlot;
    const std::set<int> nets = nets_of_gpus();
    std::vector<const Node*> used;
    core::Bandwidth total;
    for (const int net : nets) {
      used.push_back(&topology_.node(net));
      total = total + topology_.node(net).as<topology::Net>().speed;
    }
    if (used.empty()) return;
    machine_.nics = static_cast<int>(used.size()) / std::max(1, topology_.hosts());
    machine_.nic.port_rate = {total / static_cast<double>(used.size()), core::Basis::kRead,
                              fmt::format("{} ports in {}", used.size(), machine_.name)};
    if (std::all_of(nets.begin(), nets.end(), [this](int net) { return is_unknown(net); })) {
      machine_.nic.port_rate.basis = core::Basis::kAssumed;
      machine_.nic.port_rate.source = "NCCL's 10 Gb/s for an interface that does not say its speed";
    }
    if (const auto slot = usual_slot(used)) machine_.nic.pcie = *slot;
  }

  // Of each GPU the ports with the widest path, of those the nearest ones (NCCL 2.28
  // src/graph/topo.cc, ncclTopoGetLocal).
  std::set<int> nets_of_gpus() const {
    const std::vector<int>& nets = topology_.of(NodeType::kNet);
    const auto paths = topology::Paths::between(topology_);
    if (!paths) return {nets.begin(), nets.end()};
    std::set<int> used;
    for (const int gpu : topology_.of(NodeType::kGpu)) {
      topology::Path best;
      for (const int net : nets) {
        const topology::Path path = paths->path(gpu, net);
        if (path.bandwidth > best.bandwidth ||
            (path.bandwidth == best.bandwidth && path.type < best.type))
          best = path;
      }
      for (const int net : nets) {
        const topology::Path path = paths->path(gpu, net);
        if (path.bandwidth == best.bandwidth && path.type == best.type) used.insert(net);
      }
    }
    return used;
  }

  // The slot that most of them have; one that is narrower is the topology's own finding.
  std::optional<catalog::PcieLink> usual_slot(const std::vector<const Node*>& nets) const {
    std::map<std::pair<double, std::string>, std::pair<int, catalog::PcieLink>> slots;
    for (const Node* net : nets)
      for (const topology::Link& link : net->links) {
        if (topology_.node(link.remote).type() != NodeType::kNic) continue;
        const auto slot = topology::standard_pcie(topology_.node(link.remote).slot);
        if (!slot) continue;
        auto& entry = slots[{slot->nominal().value.in_GBps(), slot->name()}];
        ++entry.first;
        entry.second = *slot;
      }
    const auto most =
        std::max_element(slots.begin(), slots.end(), [](const auto& a, const auto& b) {
          return a.second.first <= b.second.first;  // of equally many the widest, which comes last
        });
    return most == slots.end() ? std::nullopt : std::optional(most->second.second);
  }

  // NCCL writes 10000 Mb/s where an interface does not say its speed (its socket plugin reads
  // /sys/class/net/IF/speed); RDMA devices always say theirs.
  bool is_unknown(int net) const {
    const auto& port = topology_.node(net).as<topology::Net>();
    const bool is_interface = port.name.rfind("eth", 0) == 0 || port.name.rfind("en", 0) == 0;
    return is_interface && !port.gdr && std::abs(port.speed.in_Gbps() - 10) < 1e-6;
  }

  const topology::Machine& topology_;
  catalog::Machine machine_ = {};
  std::map<int, int> links_to_gpus_ = {};
};

}  // namespace

core::Result<catalog::Machine> machine_of(const topology::Machine& topology,
                                          const std::string& name) {
  return Reader(topology).read(name);
}

}  // namespace comm_probe::diagnose
