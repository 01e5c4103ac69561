#include "topology/machine_builder.h"

#include <algorithm>
#include <cstdlib>

#include "topology/standard_links.h"

namespace comm_probe::topology {
namespace {

using core::Bandwidth;

std::optional<Bandwidth> sum(std::optional<Bandwidth> a, std::optional<Bandwidth> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<Bandwidth> nvlink_nominal(int sm, int count) {
  const auto links = standard_nvlinks(sm, count);
  if (!links) return std::nullopt;
  return links->one_way().value;
}

std::optional<Bandwidth> nvlink_effective(int sm, int count) {
  const auto links = standard_nvlinks(sm, count);
  const auto each = links ? catalog::nvlink_effective_per_link(links->generation) : std::nullopt;
  if (!each) return std::nullopt;
  return each->value * count;
}

// Broadcom PEX switches that show two levels where there is one: the id of the switch without its
// low 12 bits (NCCL 2.28.9 topo.cc, getBcmGen). 0: not one of them.
int broadcom_generation(std::uint64_t device, int level) {
  constexpr std::uint64_t kGen4 = 0x1000c0101000a000;
  constexpr std::uint64_t kGen5 = 0x1000c03010000000;
  const std::uint64_t family = device & ~std::uint64_t{0xfff};
  if (family == kGen4) return 4;
  if (family == kGen5 + static_cast<std::uint64_t>(level) * 0x1000) return 5;
  return 0;
}

}  // namespace

void MachineBuilder::connect(int from, Link link) {
  auto& links = machine_.node(from).links;
  auto at = std::find_if(links.begin(), links.end(), [&](const Link& known) {
    return known.remote == link.remote && known.type == link.type;
  });
  if (at == links.end()) {
    at = links.insert(links.end(), link);
  } else {
    at->count += link.count;
    at->nccl.GBps += link.nccl.GBps;
    at->nominal = sum(at->nominal, link.nominal);
    at->effective = sum(at->effective, link.effective);
  }
  while (at != links.begin() && std::prev(at)->nccl < at->nccl) {
    std::iter_swap(std::prev(at), at);
    --at;
  }
}

void MachineBuilder::join(int one, int other, Link link) {
  link.remote = other;
  connect(one, link);
  link.remote = one;
  connect(other, link);
}

void MachineBuilder::join_pci(int function, int above) {
  const PciSlot& slot = machine_.node(function).slot;
  const bool on_bus = !machine_.node(function).bus_id.empty();
  Link link{.type = LinkType::kPci, .nccl = on_bus ? nccl_pci_rate(slot) : kLocalRate};
  if (const auto standard = standard_pcie(slot)) {
    link.nominal = standard->nominal().value;
    link.effective = standard->effective().value;
  }
  join(function, above, link);
}

void MachineBuilder::join_net(int nic, int net) {
  const Bandwidth speed = machine_.node(net).as<Net>().speed;
  join(nic, net, {.type = LinkType::kNet, .nccl = nccl_net_rate(speed), .nominal = speed});
}

void MachineBuilder::join_nvlinks(int gpu, int target, int count) {
  const int sm = machine_.node(gpu).as<Gpu>().sm.value_or(0);
  Link link{.type = LinkType::kNvl,
            .remote = target,
            .count = count,
            .nccl = {static_cast<float>(count) * nccl_nvlink_rate(sm, version_).GBps},
            .nominal = nvlink_nominal(sm, count),
            .effective = nvlink_effective(sm, count)};
  connect(gpu, link);
  if (machine_.node(target).type() == NodeType::kGpu) return;  // it brings its own
  link.remote = gpu;
  connect(target, link);
}

void MachineBuilder::join_c2c(int gpu, int cpu, int count, Bandwidth each) {
  const auto rate = static_cast<float>(each.in_GBps() * 1000 * count / 1000.0);
  join(gpu, cpu, {.type = LinkType::kC2c, .count = count, .nccl = {rate}});
}

int MachineBuilder::nvswitch() {
  if (machine_.count(NodeType::kNvs) > 0) return machine_.of(NodeType::kNvs).front();
  return machine_.add({.kind = NvSwitch{}});
}

std::optional<int> MachineBuilder::cpu_above(int node) const {
  std::vector<bool> seen(machine_.nodes.size());
  std::vector<int> stack = {node};
  while (!stack.empty()) {
    const int at = stack.back();
    stack.pop_back();
    if (machine_.node(at).type() == NodeType::kCpu) return at;
    if (seen[static_cast<std::size_t>(at)]) continue;
    seen[static_cast<std::size_t>(at)] = true;
    for (const Link& link : machine_.node(at).links) {
      const NodeType remote = machine_.node(link.remote).type();
      if (link.type == LinkType::kPci && (remote == NodeType::kPci || remote == NodeType::kCpu))
        stack.push_back(link.remote);
    }
  }
  return std::nullopt;
}

void MachineBuilder::merge_switches(int parent, const std::vector<int>& below) {
  std::vector<bool> gone(machine_.nodes.size());
  for (const int child : below) {
    gone[static_cast<std::size_t>(child)] = true;
    std::erase_if(machine_.node(parent).links,
                  [&](const Link& link) { return link.remote == child; });
  }
  for (const int child : below) {
    for (const Link& link : machine_.node(child).links) {
      if (link.remote == parent) continue;
      machine_.node(parent).links.push_back(link);
      for (Link& back : machine_.node(link.remote).links)
        if (back.remote == child) back.remote = parent;
    }
    machine_.node(child).links.clear();
  }
  PciSwitch merged = machine_.node(parent).as<PciSwitch>();
  merged.device |= 0xffff;  // not treated again
  machine_.node(parent).kind = merged;
  machine_ = machine_.without(gone);
}

bool MachineBuilder::flatten_once() {
  for (const int parent : machine_.of(NodeType::kPci)) {
    const int generation = broadcom_generation(machine_.node(parent).as<PciSwitch>().device, 0);
    if (generation == 0) continue;
    std::vector<int> below;
    for (const Link& link : machine_.node(parent).links) {
      const Node& remote = machine_.node(link.remote);
      if (remote.type() == NodeType::kPci &&
          broadcom_generation(remote.as<PciSwitch>().device, 1) == generation)
        below.push_back(link.remote);
    }
    merge_switches(parent, below);
    return true;
  }
  return false;
}

void MachineBuilder::flatten_broadcom() {
  while (flatten_once()) {
  }
}

void MachineBuilder::join_cpus() {
  const std::vector<int> cpus = machine_.of(NodeType::kCpu);
  for (const int one : cpus)
    for (const int other : cpus) {
      if (one == other || machine_.node(one).host != machine_.node(other).host) continue;
      connect(one, {.type = LinkType::kSys,
                    .remote = other,
                    .nccl = nccl_cpu_link_rate(machine_.node(one).as<Cpu>(), version_)});
    }
}

void MachineBuilder::sort_from(int node, std::optional<int> above) {
  auto& links = machine_.node(node).links;
  if (above) {
    const auto up = std::find_if(links.begin(), links.end(),
                                 [&](const Link& link) { return link.remote == *above; });
    if (up != links.end()) std::rotate(up, up + 1, links.end());
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link link = machine_.node(node).links[i];
    if (link.type == LinkType::kPci && link.remote != above.value_or(-1))
      sort_from(link.remote, node);
  }
}

Machine MachineBuilder::finish() {
  flatten_broadcom();
  join_cpus();
  for (const int cpu : machine_.of(NodeType::kCpu)) sort_from(cpu, std::nullopt);
  return std::move(machine_);
}

}  // namespace comm_probe::topology
