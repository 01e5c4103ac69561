#include "catalog/topology_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "catalog/machine_figures.h"
#include "catalog/xml_writer.h"
#include "core/units.h"

namespace comm_probe::catalog {
namespace {

constexpr const char* kBridgeClass = "0x060400";
constexpr const char* kGpuClass = "0x030200";
constexpr const char* kNvswitchClass = "0x068000";
// What NCCL writes for a switch that is not to be seen as a PCI device (virtual machines, NVL72).
constexpr const char* kHiddenSwitch = "fffffff:ffff:ff";
constexpr int kFirstSwitchBus = 0xf1;
// The number of connections that the plugin reports: InfiniBand plugin and socket transport.
constexpr int kRdmaConnections = 131072;
constexpr int kSocketConnections = 65536;

std::string bus_id(int bus) { return fmt::format("0000:{:02x}:00.0", bus); }

// One card on a branch: a GPU, or a NIC with the nets of all its ports.
struct Device {
  int gpu = -1;
  std::vector<int> nets = {};
};

class TopologyWriter {
 public:
  TopologyWriter(const Machine& machine, int trays) : machine_(machine), trays_(trays) { place(); }

  std::string write() {
    xml_.comment(fmt::format("{}: {}; written from the catalog of comm-probe, bus ids are invented",
                             machine_.name, machine_.description));
    xml_.open("system", {{"version", "1"}, {"name", machine_.name}});
    for (tray_ = 0; tray_ < trays_; ++tray_) host();
    xml_.close();
    return xml_.take();
  }

 private:
  void place();
  void host();
  std::vector<int> numa_order() const;
  void open_cpu(int numa);
  std::vector<Device> devices(const Branch& branch) const;
  void branch(std::size_t index);
  void open_bridge(int bus, const PcieLink& link);
  PcieLink link_of(const Device& device) const {
    return device.gpu >= 0 ? *machine_.gpu.pcie : slot_of_net();
  }
  PcieLink slot_of_net() const;
  void device(const Device& device, int bus, const PcieLink& link);
  void gpu(int index);
  void net(int index);

  const Machine& machine_;
  int trays_;
  int tray_ = 0;  // that is being written
  XmlWriter xml_ = {};
  std::vector<int> first_bus_ = {};  // of each branch
  std::map<int, int> gpu_bus_ = {};
};

// Several NICs that NCCL sees as one net have a slot each; the first generation of 16 lanes that
// carries their rate stands for them (AWS's file for P5 has 32 GT/s x16 for four gen4 NICs). The
// ports of one card have its slot.
PcieLink TopologyWriter::slot_of_net() const {
  const Nic& nic = machine_.nic;
  if (machine_.nics_per_net <= 1) return nic.pcie;
  PcieLink slot = nic.pcie;
  for (int generation = 3; generation <= 6; ++generation) {
    if (slot.raw().value >= nic.port_rate.value * machine_.nics_per_net) break;
    if (pcie(generation, 16).raw().value > slot.raw().value) slot = pcie(generation, 16);
  }
  return slot;
}

// NVML numbers GPUs in the order of their buses, so branches get theirs in the order of their GPUs.
void TopologyWriter::place() {
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t index = 0; index < machine_.branches.size(); ++index) {
    const std::vector<int>& gpus = machine_.branches[index].gpus;
    const int before = order.empty() ? 0 : order.back().first;
    order.emplace_back(gpus.empty() ? before : gpus.front(), index);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  first_bus_.resize(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    first_bus_[order[rank].second] = 0x10 * static_cast<int>(rank + 1);
  for (std::size_t index = 0; index < machine_.branches.size(); ++index) {
    const Branch& branch = machine_.branches[index];
    const int step = branch.kind == Branch::Kind::kSwitchTwoLevel ? 2 : 1;
    int bus = first_bus_[index] + (branch.kind == Branch::Kind::kRootPorts ? 0 : step);
    for (const int gpu : branch.gpus) gpu_bus_[gpu] = bus, bus += step;
  }
}

std::vector<int> TopologyWriter::numa_order() const {
  std::vector<int> order;
  for (const Branch& branch : machine_.branches)
    if (std::find(order.begin(), order.end(), branch.numa) == order.end())
      order.push_back(branch.numa);
  return order;
}

void TopologyWriter::host() {
  for (const int numa : numa_order()) {
    open_cpu(numa);
    for (std::size_t index = 0; index < machine_.branches.size(); ++index)
      if (machine_.branches[index].numa == numa) branch(index);
    xml_.close();
  }
}

void TopologyWriter::open_cpu(int numa) {
  const Cpu& cpu = machine_.cpu;
  XmlAttributes attributes;
  if (trays_ > 1) attributes.emplace_back("host_hash", fmt::format("{:#x}", tray_ + 1));
  attributes.insert(
      attributes.end(),
      {{"numaid", std::to_string(numa)}, {"affinity", "00000000"}, {"arch", cpu.arch}});
  if (!cpu.vendor.empty()) {
    attributes.emplace_back("vendor", cpu.vendor);
    attributes.emplace_back("familyid", std::to_string(cpu.family));
    attributes.emplace_back("modelid", std::to_string(cpu.model));
  }
  xml_.open("cpu", attributes);
}

// GPUs first, then NICs; the ports of one NIC stand below one PCI function.
std::vector<Device> TopologyWriter::devices(const Branch& branch) const {
  std::vector<Device> result;
  for (const int gpu : branch.gpus) result.push_back({.gpu = gpu, .nets = {}});
  std::map<int, Device> cards;
  const int ports = machine_.nics_per_net > 1 ? 1 : machine_.nic.ports;
  for (const int net : branch.nets) cards[net / ports].nets.push_back(net);
  for (auto& [card, device] : cards) result.push_back(std::move(device));
  return result;
}

void TopologyWriter::branch(std::size_t index) {
  const Branch& branch = machine_.branches[index];
  const std::vector<Device> below = devices(branch);
  int bus = first_bus_[index];
  if (branch.kind == Branch::Kind::kRootPorts) {
    for (const Device& card : below)
      device(card, bus++, slot_link(link_of(card), machine_.host_pcie));
    return;
  }
  PcieLink widest{1, 1};
  for (const Device& card : below)
    if (link_of(card).raw().value > widest.raw().value) widest = link_of(card);
  open_bridge(bus, branch.uplink.value_or(slot_link(widest, machine_.host_pcie)));
  for (const Device& card : below) {
    const bool own_switch = branch.kind == Branch::Kind::kSwitchTwoLevel;
    if (own_switch) open_bridge(++bus, link_of(card));
    device(card, ++bus, link_of(card));
    if (own_switch) xml_.close();
  }
  xml_.close();
}

void TopologyWriter::open_bridge(int bus, const PcieLink& link) {
  xml_.open("pci", {{"busid", bus_id(bus)},
                    {"class", kBridgeClass},
                    {"link_speed", link.speed_text()},
                    {"link_width", std::to_string(link.lanes)}});
}

void TopologyWriter::device(const Device& device, int bus, const PcieLink& link) {
  const bool is_gpu = device.gpu >= 0;
  xml_.open("pci", {{"busid", bus_id(bus)},
                    {"class", is_gpu ? kGpuClass : machine_.nic.pci_class},
                    {"vendor", is_gpu ? machine_.gpu.pci_vendor : machine_.nic.pci_vendor},
                    {"device", is_gpu ? machine_.gpu.pci_device : machine_.nic.pci_device},
                    {"link_speed", link.speed_text()},
                    {"link_width", std::to_string(link.lanes)}});
  if (is_gpu) {
    gpu(device.gpu);
  } else {
    xml_.open("nic", {});
    for (const int index : device.nets) net(index);
    xml_.close();
  }
  xml_.close();
}

void TopologyWriter::gpu(int index) {
  const std::string number = std::to_string(index);
  const bool gdr = machine_.gdr && machine_.gpu.can_gdr;
  xml_.open("gpu", {{"dev", number},
                    {"sm", std::to_string(machine_.gpu.sm)},
                    {"rank", std::to_string(tray_ * machine_.gpus + index)},
                    {"gdr", gdr ? "1" : "0"}});
  const auto nvlink = [this](const std::string& target, int count, const char* target_class) {
    xml_.leaf("nvlink",
              {{"target", target}, {"count", std::to_string(count)}, {"tclass", target_class}});
  };
  const bool hidden = machine_.switch_links.size() == 1;
  int bus = kFirstSwitchBus;
  for (const int count : machine_.switch_links)
    nvlink(hidden ? kHiddenSwitch : bus_id(bus), count, kNvswitchClass), ++bus;
  for (const GpuPair& pair : machine_.gpu_pairs)
    if (pair.first == index || pair.second == index)
      nvlink(bus_id(gpu_bus_.at(pair.first == index ? pair.second : pair.first)), pair.links,
             kGpuClass);
  if (machine_.c2c_links > 0)
    xml_.leaf("c2c", {{"bw", fmt::format("{:.0f}", machine_.c2c_per_link.value.in_GBps() * 1000)},
                      {"count", std::to_string(machine_.c2c_links)}});
  xml_.close();
}

void TopologyWriter::net(int index) {
  const Nic& nic = machine_.nic;
  const int ports = machine_.nics_per_net > 1 ? 1 : nic.ports;
  const core::Bandwidth speed =
      nic.port_rate.value * (machine_.nics_per_net > 1 ? machine_.nics_per_net : 1);
  xml_.leaf("net",
            {{"name", fmt::format("{}{}", nic.device_name, index)},
             {"dev", std::to_string(index)},
             {"latency", core::format_number(nic.nccl_latency.in_us())},
             {"speed", fmt::format("{:.0f}", speed.in_Gbps() * 1000)},
             {"port", std::to_string(index % ports + 1)},
             {"guid", fmt::format("{:#x}", 0x1000 * (tray_ + 1) + 0x10 * (index / ports))},
             {"maxconn", std::to_string(nic.can_rdma ? kRdmaConnections : kSocketConnections)},
             {"gdr", machine_.gdr ? "1" : "0"}});
}

}  // namespace

core::Result<std::string> topology_xml(const Machine& machine, int trays) {
  if (trays < 1 || trays > trays_of_domain(machine))
    return core::input_error(fmt::format("{} trays of {}, expected 1 to {} (one NVLink domain)",
                                         trays, machine.name, trays_of_domain(machine)));
  if (machine.gpu.sm == 0)
    return core::input_error(
        fmt::format("machine '{}' has no topology in NCCL's schema: GPU {} is not NVIDIA's",
                    machine.name, machine.gpu.name),
        "every other machine has one");
  return TopologyWriter(machine, trays).write();
}

}  // namespace comm_probe::catalog
