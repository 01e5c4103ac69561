#include "topology/machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::topology {

const char* node_type_name(NodeType type) {
  switch (type) {
    case NodeType::kGpu:
      return "GPU";
    case NodeType::kPci:
      return "PCI";
    case NodeType::kNvs:
      return "NVS";
    case NodeType::kCpu:
      return "CPU";
    case NodeType::kNic:
      return "NIC";
    case NodeType::kNet:
      return "NET";
  }
  return "";
}

int Machine::add(Node node) {
  const int index = static_cast<int>(nodes.size());
  auto& same = by_type_[static_cast<std::size_t>(node.type())];
  place_.push_back(static_cast<int>(same.size()));
  same.push_back(index);
  hosts_ = std::max(hosts_, node.host + 1);
  nodes.push_back(std::move(node));
  return index;
}

Machine Machine::without(const std::vector<bool>& gone) const {
  Machine rest;
  rest.name = name;
  std::vector<int> moved(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!gone[i]) moved[i] = rest.add(nodes[i]);
  for (Node& node : rest.nodes) {
    std::erase_if(node.links, [&](const Link& link) {
      return moved[static_cast<std::size_t>(link.remote)] < 0;
    });
    for (Link& link : node.links) link.remote = moved[static_cast<std::size_t>(link.remote)];
  }
  return rest;
}

std::string Machine::device_name(int index) const {
  const Node& which = node(index);
  const std::string host = hosts() > 1 ? fmt::format("host{}:", which.host) : "";
  switch (which.type()) {
    case NodeType::kGpu: {
      const auto dev = which.as<Gpu>().dev;
      return fmt::format("{}GPU{}", host, dev ? *dev : index_in_type(index));
    }
    case NodeType::kPci:
      return fmt::format("{}switch {}", host, which.bus_id);
    case NodeType::kNvs:
      return "NVSwitch";
    case NodeType::kCpu:
      return fmt::format("{}CPU{}", host, which.as<Cpu>().numa);
    case NodeType::kNic:
      return which.bus_id.empty() ? host + "nic" : fmt::format("{}nic {}", host, which.bus_id);
    case NodeType::kNet:
      return host + which.as<Net>().name;
  }
  return "";
}

}  // namespace comm_probe::topology
