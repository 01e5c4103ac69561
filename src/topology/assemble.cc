#include "topology/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

#include "topology/machine_builder.h"

namespace comm_probe::topology {
namespace {

using core::Result;

constexpr std::size_t kMostOfOneType = 576;  // NCCL_TOPO_MAX_NODES
constexpr std::size_t kDeepest = 64;
constexpr std::uint64_t kLocalIdMask = (std::uint64_t{1} << 56) - 1;
// NCCL's figure where the speed of a port is not known; a link with it has no nominal figure.
const core::Bandwidth kNoSpeed = core::Bandwidth::from_Gbps(10);

std::uint64_t hex_value(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::uint64_t bus_number(const std::string& bus_id) {
  std::string digits = bus_id;
  std::erase_if(digits, [](char c) { return c == ':' || c == '.'; });
  return hex_value(digits);
}

// The slower of two speeds and the narrower of two widths; what only one end says counts.
PciSlot lesser(const PciLink& a, const PciLink& b) {
  PciSlot slot;
  const bool a_is_slower = std::atof(a.speed.c_str()) <= std::atof(b.speed.c_str());
  slot.speed = b.speed.empty() || (!a.speed.empty() && a_is_slower) ? a.speed : b.speed;
  if (a.width && b.width)
    slot.width = std::min(*a.width, *b.width);
  else
    slot.width = a.width ? *a.width : b.width.value_or(0);
  return slot;
}

// "00ff00ff,00000000": 32 bits a word, highest first, as the kernel prints a cpumap.
std::string affinity_of(const std::vector<int>& cpus) {
  std::vector<std::uint32_t> words;
  for (const int cpu : cpus) {
    const auto word = static_cast<std::size_t>(cpu / 32);
    if (words.size() <= word) words.resize(word + 1);
    words[word] |= 1U << (cpu % 32);
  }
  std::string text;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", *word);
  return text;
}

Cpu cpu_of(const Processor& processor, int numa) {
  Cpu cpu{.numa = numa};
  const bool is_arm = processor.vendor.starts_with("0x");
  if (!processor.vendor.empty()) cpu.arch = is_arm ? Cpu::Arch::kArm : Cpu::Arch::kX86;
  if (processor.vendor == "GenuineIntel") cpu.vendor = Cpu::Vendor::kIntel;
  if (processor.vendor == "AuthenticAMD") cpu.vendor = Cpu::Vendor::kAmd;
  if (processor.vendor == "CentaurHauls" || processor.vendor == "  Shanghai  ")
    cpu.vendor = Cpu::Vendor::kZhaoxin;
  cpu.family_id = processor.family.value_or(0);
  cpu.model_id = processor.model.value_or(0);
  return cpu;
}

class Assembler {
 public:
  explicit Assembler(const HostFacts& facts) : facts_(facts), builder_(NcclVersion{}) {}
  Result<Machine> make();

 private:
  std::vector<std::string> chain_of(const std::string& bus_id) const;
  void place(const std::string& bus_id);
  std::string card_of(const std::string& bus_id) const;
  void find_gpus();
  void find_nics();
  void add_cpus();
  int add_function(const std::string& bus_id, int above);
  Node node_of(const std::string& bus_id) const;
  void add_ports(const std::string& card, int nic);
  void add_bare_ports();
  void join_nvlinks();
  int numa_of(const std::string& bus_id) const;

  const HostFacts& facts_;
  MachineBuilder builder_;
  std::map<std::string, Gpu> gpus_ = {};
  struct Port {
    Net net = {};
    std::optional<core::Bandwidth> speed = {};
  };
  std::map<std::string, std::vector<Port>> nics_ = {};  // by card
  std::vector<Port> bare_ports_ = {};
  std::map<std::string, std::set<std::string>> below_ = {};  // "" = none: roots are in roots_
  std::map<int, std::set<std::string>> roots_ = {};          // by NUMA node
  std::map<std::string, int> nodes_ = {};
  bool is_circular_ = false;
};

std::vector<std::string> Assembler::chain_of(const std::string& bus_id) const {
  std::vector<std::string> chain = {bus_id};
  while (chain.size() <= kDeepest) {
    const PciFunction* function = facts_.function(chain.back());
    if (function == nullptr || !function->above || function->above->empty()) break;
    chain.push_back(*function->above);
  }
  return chain;
}

int Assembler::numa_of(const std::string& bus_id) const {
  const PciFunction* function = facts_.function(bus_id);
  if (function != nullptr && function->numa) return *function->numa;
  return facts_.numa_nodes.size() == 1 ? facts_.numa_nodes.front().id : -1;
}

// Makes the node of a device and those of the switches above it: every second function.
void Assembler::place(const std::string& bus_id) {
  const std::vector<std::string> chain = chain_of(bus_id);
  is_circular_ = is_circular_ || chain.size() > kDeepest;
  for (std::size_t i = 0; i + 2 < chain.size(); i += 2)
    if (!below_[chain[i + 2]].insert(chain[i]).second) return;
  const std::string& top = chain[(chain.size() - 1) / 2 * 2];
  for (const auto& [numa, roots] : roots_)
    if (roots.contains(top)) return;
  roots_[numa_of(bus_id)].insert(top);
}

void Assembler::find_gpus() {
  const bool knows_driver = !facts_.gpus.empty();
  int index = 0;
  for (const GpuFacts& gpu : facts_.gpus)
    if (!gpu.bus_id.empty()) gpus_[gpu.bus_id] = {.dev = gpu.index, .sm = gpu.sm};
  for (const PciFunction& function : facts_.functions)
    if (!knows_driver && function.kind == PciFunction::Kind::kGpu)
      gpus_[function.bus_id] = {.dev = index++};
}

// Function 0 of the same card, where it is there.
std::string Assembler::card_of(const std::string& bus_id) const {
  if (bus_id.empty()) return bus_id;
  std::string first = bus_id;
  first.back() = '0';
  const PciFunction* card = facts_.function(first);
  return card == nullptr || card->kind != PciFunction::Kind::kNic ? bus_id : first;
}

void Assembler::find_nics() {
  const auto add = [&](const std::string& bus_id, Net net, std::optional<core::Bandwidth> speed) {
    const std::string card = card_of(bus_id);
    auto& ports = card.empty() ? bare_ports_ : nics_[card];
    net.port += static_cast<int>(ports.size());
    net.speed = speed.value_or(kNoSpeed);
    ports.push_back({std::move(net), speed});
  };
  std::set<std::string> served;
  int dev = 0;
  for (const RdmaPortFacts& port : facts_.rdma_ports) {
    served.insert(port.bus_id);
    served.insert(port.interface);
    Net net{.name = port.port == 1 ? port.device : fmt::format("{}:{}", port.device, port.port)};
    if (port.is_active()) net.dev = dev++;
    net.port = card_of(port.bus_id).empty() ? 0 : 1;
    net.asic = hex_value(port.guid);
    add(port.bus_id, std::move(net), port.rate);
  }
  const bool uses_sockets = dev == 0;
  for (const InterfaceFacts& interface : facts_.interfaces) {
    if (served.contains(interface.name) ||
        (!interface.bus_id.empty() && served.contains(interface.bus_id)))
      continue;
    Net net{.name = interface.name};
    if (uses_sockets && interface.is_up) net.dev = dev++;
    add(interface.bus_id, std::move(net), interface.speed);
  }
  const bool knows_ports = !facts_.rdma_ports.empty() || !facts_.interfaces.empty();
  for (const PciFunction& function : facts_.functions)
    if (!knows_ports && function.kind == PciFunction::Kind::kNic) nics_[card_of(function.bus_id)];
}

void Assembler::add_cpus() {
  std::set<int> ids;
  for (const NumaNode& node : facts_.numa_nodes)
    if (!node.cpus.empty()) ids.insert(node.id);
  for (const auto& [numa, roots] : roots_) ids.insert(numa);
  if (ids.empty()) ids.insert(-1);
  for (const int id : ids) {
    Cpu cpu = cpu_of(facts_.processor.value_or(Processor{}), id);
    for (const NumaNode& node : facts_.numa_nodes)
      if (node.id == id) cpu.affinity = affinity_of(node.cpus);
    const int node =
        builder_.add({.kind = cpu, .local = static_cast<std::uint64_t>(id) & kLocalIdMask});
    const auto roots = roots_.find(id);
    if (roots == roots_.end()) continue;
    for (const std::string& root : roots->second) add_function(root, node);
  }
}

Node Assembler::node_of(const std::string& bus_id) const {
  Node node{.local = bus_number(bus_id), .bus_id = bus_id};
  const PciFunction* function = facts_.function(bus_id);
  const PciFunction* above =
      function != nullptr && function->above ? facts_.function(*function->above) : nullptr;
  if (function != nullptr)
    node.slot = lesser(function->maximum, above != nullptr ? above->maximum : PciLink{});
  if (const auto gpu = gpus_.find(bus_id); gpu != gpus_.end())
    node.kind = gpu->second;
  else if (nics_.contains(bus_id))
    node.kind = Nic{};
  else if (function != nullptr)
    node.kind = PciSwitch{
        (hex_value(function->vendor) << 48) + (hex_value(function->device) << 32) +
        (hex_value(function->subsystem_vendor) << 16) + hex_value(function->subsystem_device)};
  else
    node.kind = PciSwitch{};
  return node;
}

int Assembler::add_function(const std::string& bus_id, int above) {
  const int node = builder_.add(node_of(bus_id));
  nodes_[bus_id] = node;
  if (builder_.machine().node(node).type() == NodeType::kPci)
    for (const std::string& child : below_[bus_id]) add_function(child, node);
  if (builder_.machine().node(node).type() == NodeType::kNic) add_ports(bus_id, node);
  builder_.join_pci(node, above);
  return node;
}

void Assembler::add_ports(const std::string& card, int nic) {
  for (const Port& port : nics_[card]) {
    const auto local = static_cast<std::uint64_t>(port.net.dev.value_or(0));
    builder_.join(
        nic, builder_.add({.kind = port.net, .local = local}),
        {.type = LinkType::kNet, .nccl = nccl_net_rate(port.net.speed), .nominal = port.speed});
  }
}

// Ports without a PCI device behind them hang under the first CPU.
void Assembler::add_bare_ports() {
  if (bare_ports_.empty()) return;
  const int nic = builder_.add({.kind = Nic{}});
  builder_.join(builder_.machine().of(NodeType::kCpu).front(), nic,
                {.type = LinkType::kPci, .nccl = kLocalRate});
  nics_[""] = bare_ports_;
  add_ports("", nic);
}

void Assembler::join_nvlinks() {
  std::map<std::pair<int, int>, int> counts;  // GPU node, target node; -1 = the fabric
  for (const NvlinkState& link : facts_.nvlinks) {
    const GpuFacts* gpu = facts_.gpu(link.gpu);
    if (gpu == nullptr || !link.is_active || !nodes_.contains(gpu->bus_id)) continue;
    const auto target = nodes_.find(link.remote_bus_id);
    const bool is_peer = target != nodes_.end() && gpus_.contains(link.remote_bus_id);
    if (!is_peer && link.remote != NvlinkState::Remote::kSwitch) continue;
    ++counts[{nodes_[gpu->bus_id], is_peer ? target->second : -1}];
  }
  for (const auto& [ends, count] : counts)
    builder_.join_nvlinks(ends.first, ends.second < 0 ? builder_.nvswitch() : ends.second, count);
}

Result<Machine> Assembler::make() {
  find_gpus();
  find_nics();
  if (gpus_.size() > kMostOfOneType || nics_.size() > kMostOfOneType)
    return core::input_error(
        fmt::format("more than {} GPUs or NICs in one machine", kMostOfOneType));
  for (const auto& [bus_id, gpu] : gpus_) place(bus_id);
  for (const auto& [bus_id, nets] : nics_) place(bus_id);
  if (is_circular_)
    return core::input_error(
        fmt::format("bridges stand above each other in a circle, or deeper than {}", kDeepest));
  add_cpus();
  add_bare_ports();
  join_nvlinks();
  return builder_.finish();
}

}  // namespace

Result<Machine> assemble(const HostFacts& facts) { return Assembler(facts).make(); }

}  // namespace comm_probe::topology
