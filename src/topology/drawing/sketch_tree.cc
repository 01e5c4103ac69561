// The sketch of a machine whose graph is known.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/units.h"
#include "topology/drawing/sketch.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::topology {
namespace {

using core::Bandwidth;
using Kind = SketchNode::Kind;

std::string number(double value) { return core::format_number(value); }

class TreeSketch {
 public:
  TreeSketch(const Survey& survey, const Machine& machine)
      : machine_(machine), drawn_(machine.nodes.size(), -1) {
    for (std::size_t i = 0; i < survey.devices.size(); ++i)
      if (const auto node = survey.devices[i].node) device_of_[*node] = static_cast<int>(i);
  }
  Sketch make();

 private:
  int add(int index);
  void add_children(int parent, int index);
  SketchNode describe(int index) const;
  void describe_ports(SketchNode& node, int nic) const;
  std::string local_name(int index) const;
  void add_links();
  void add_link(int from, const Link& link);
  void add_panels();
  std::string signature(int drawn) const;
  std::string signature_of_host(const std::vector<int>& roots) const;

  const Machine& machine_;
  std::map<int, int> device_of_ = {};           // by node of the machine
  std::vector<int> drawn_;                      // by node of the machine, -1: not drawn
  std::map<int, std::vector<int>> roots_ = {};  // by host
  std::set<std::pair<LinkType, std::pair<int, int>>> joined_ = {};
  Sketch sketch_ = {};
};

// A rate that stands for "no limit" is none.
std::optional<Bandwidth> rate_of(const Link& link) {
  if (link.nccl >= kLocalRate) return std::nullopt;
  // NCCL's own assumption where the source says nothing.
  if (link.type == LinkType::kPci && !link.nominal) return std::nullopt;
  return link.nccl.bandwidth();
}

std::string TreeSketch::local_name(int index) const {
  const std::string name = machine_.device_name(index);
  return machine_.hosts() > 1 ? name.substr(name.find(':') + 1) : name;
}

void TreeSketch::describe_ports(SketchNode& node, int nic) const {
  std::map<double, int> rates;
  for (const Link& link : machine_.node(nic).links) {
    if (link.type != LinkType::kNet) continue;
    const Net& net = machine_.node(link.remote).as<Net>();
    const auto device = device_of_.find(link.remote);
    if (!node.device && device != device_of_.end()) node.device = device->second;
    node.name = rates.empty() ? net.name : node.name;
    if (!rates.empty()) node.lines.push_back(net.name);
    node.about += ", " + net.name;
    if (link.nominal) node.about += fmt::format(" {} Gb/s", number(link.nominal->in_Gbps()));
    ++rates[link.nominal ? link.nominal->in_Gbps() : 0];
  }
  rates.erase(0);
  for (const auto& [rate, count] : rates)
    node.lines.push_back(count > 1 ? fmt::format("{} x {}G", count, number(rate))
                                   : number(rate) + " Gb/s");
}

SketchNode TreeSketch::describe(int index) const {
  const Node& node = machine_.node(index);
  SketchNode sketched{.name = local_name(index)};
  if (const auto device = device_of_.find(index); device != device_of_.end())
    sketched.device = device->second;
  const std::string slot = short_slot(node.slot);
  sketched.about = machine_.device_name(index);
  if (!node.bus_id.empty()) sketched.about += " " + node.bus_id;
  if (!slot.empty()) sketched.about += ", " + slot;
  switch (node.type()) {
    case NodeType::kCpu:
      sketched.kind = Kind::kCpu;
      return sketched;
    case NodeType::kGpu:
      sketched.kind = Kind::kGpu;
      break;
    case NodeType::kPci:
      sketched.kind = Kind::kSwitch;
      sketched.name = "switch " + short_bus_id(node.bus_id);
      if (!slot.empty()) sketched.lines = {slot};
      return sketched;
    case NodeType::kNic:
    case NodeType::kNet:
    case NodeType::kNvs:
      sketched.kind = Kind::kNic;
      sketched.name = "NIC";
      describe_ports(sketched, index);
      break;
  }
  if (!slot.empty()) sketched.lines.insert(sketched.lines.begin(), slot);
  if (!node.bus_id.empty())
    sketched.lines.insert(sketched.lines.begin(), short_bus_id(node.bus_id));
  return sketched;
}

int TreeSketch::add(int index) {
  const int drawn = static_cast<int>(sketch_.nodes.size());
  drawn_[static_cast<std::size_t>(index)] = drawn;
  sketch_.nodes.push_back(describe(index));
  add_children(drawn, index);
  return drawn;
}

void TreeSketch::add_children(int parent, int index) {
  std::vector<const Link*> below;
  for (const Link& link : machine_.node(index).links) {
    const NodeType type = machine_.node(link.remote).type();
    if (link.type == LinkType::kPci && type != NodeType::kCpu) below.push_back(&link);
  }
  std::sort(below.begin(), below.end(),
            [](const Link* a, const Link* b) { return a->remote < b->remote; });
  for (const Link* link : below) {
    if (drawn_[static_cast<std::size_t>(link->remote)] >= 0) continue;
    const int child = add(link->remote);
    SketchNode& node = sketch_.node(child);
    node.up = rate_of(*link);
    const std::string slot = short_slot(machine_.node(link->remote).slot);
    node.up_about = (slot.empty() ? "link of unknown width" : "PCIe " + slot);
    if (node.up) node.up_about += fmt::format(", NCCL: {} GB/s", number(node.up->in_GBps()));
    if (link->nominal)
      node.up_about += fmt::format(", nominal: {} GB/s", number(link->nominal->in_GBps()));
    sketch_.node(parent).children.push_back(child);
  }
}

void TreeSketch::add_link(int from, const Link& link) {
  const int one = drawn_[static_cast<std::size_t>(from)];
  const NodeType type = machine_.node(link.remote).type();
  const int other =
      type == NodeType::kNvs ? SketchLink::kFabric : drawn_[static_cast<std::size_t>(link.remote)];
  if (one < 0 || (other < 0 && type != NodeType::kNvs)) return;
  SketchLink sketched{.from = one, .to = other, .count = link.count, .rate = rate_of(link)};
  switch (link.type) {
    case LinkType::kNvl:
      sketched.kind = SketchLink::Kind::kNvlink;
      break;
    case LinkType::kC2c:
      sketched.kind = SketchLink::Kind::kC2c;
      break;
    case LinkType::kSys:
      sketched.kind = SketchLink::Kind::kSocket;
      break;
    case LinkType::kLoc:
      sketched.kind = SketchLink::Kind::kSwitch;
      break;
    case LinkType::kPci:
    case LinkType::kNet:
      return;
  }
  // From the GPU, whichever end is looked at first.
  if (link.type == LinkType::kC2c && machine_.node(from).type() == NodeType::kCpu) return;
  // One line for both directions of a link; CPUs, which are all joined, as a chain.
  if (!joined_.emplace(link.type, std::minmax(one, other)).second) return;
  const bool is_next = machine_.index_in_type(link.remote) == machine_.index_in_type(from) + 1;
  if (link.type == LinkType::kSys && !is_next) return;
  sketch_.links.push_back(sketched);
}

void TreeSketch::add_links() {
  for (std::size_t i = 0; i < machine_.nodes.size(); ++i) {
    if (machine_.nodes[i].type() == NodeType::kNvs) continue;
    for (const Link& link : machine_.nodes[i].links) add_link(static_cast<int>(i), link);
  }
}

std::string TreeSketch::signature(int drawn) const {
  const SketchNode& node = sketch_.node(drawn);
  std::string text = fmt::format("({} {} {}", static_cast<int>(node.kind), node.name,
                                 node.up ? node.up->in_GBps() : 0.0);
  for (const std::string& line : node.lines) text += " " + line;
  for (const int child : node.children) text += signature(child);
  for (const SketchLink& link : sketch_.links)
    if (link.from == drawn)
      text += fmt::format("[{} {} {}]", static_cast<int>(link.kind), link.count,
                          link.rate ? link.rate->in_GBps() : 0.0);
  return text + ")";
}

std::string TreeSketch::signature_of_host(const std::vector<int>& roots) const {
  std::string text;
  for (const int root : roots) text += signature(root);
  return text;
}

void TreeSketch::add_panels() {
  std::vector<std::pair<std::string, std::vector<int>>> alike;  // signature, hosts
  for (const auto& [host, roots] : roots_) {
    const std::string text = signature_of_host(roots);
    const auto known = std::find_if(alike.begin(), alike.end(),
                                    [&](const auto& one) { return one.first == text; });
    if (known == alike.end())
      alike.push_back({text, {host}});
    else
      known->second.push_back(host);
  }
  const bool has_fabric = machine_.count(NodeType::kNvs) > 0;
  for (const auto& [text, hosts] : alike) {
    SketchPanel panel{.roots = roots_[hosts.front()], .fabric = has_fabric ? "NVSwitch" : ""};
    if (hosts.size() > 1)
      panel.title = fmt::format("{} hosts alike: host{} ... host{}", hosts.size(), hosts.front(),
                                hosts.back());
    else if (roots_.size() > 1)
      panel.title = fmt::format("host{}", hosts.front());
    sketch_.panels.push_back(std::move(panel));
  }
}

Sketch TreeSketch::make() {
  for (const int cpu : machine_.of(NodeType::kCpu))
    roots_[machine_.node(cpu).host].push_back(add(cpu));
  add_links();
  add_panels();
  return std::move(sketch_);
}

}  // namespace

Sketch sketch_of_tree(const Survey& survey, const Machine& machine) {
  return TreeSketch(survey, machine).make();
}

}  // namespace comm_probe::topology
