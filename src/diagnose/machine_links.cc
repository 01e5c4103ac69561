#include "diagnose/machine_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "catalog/machine_figures.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using catalog::Fabric;
using catalog::Gpu;
using catalog::Machine;
using core::Bandwidth;
using model::Op;

constexpr int kFirstReducingNvlink =
    4;  // NVLink SHARP comes with the NVSwitch of NVLink 4 (Hopper)
constexpr double kSameRate = 0.01;

Links pcie_way(const catalog::PcieLink& pcie, const std::string& gpu) {
  Links links;
  links.inside = pcie.nominal().value;
  links.inside_class = PathClass::kPcie;
  links.inside_source = fmt::format("PCIe {} of {} ({} nominal)", pcie.name(), gpu,
                                    core::format_bandwidth(links.inside));
  return links;
}

// Where the host side is older than the GPU, its generation rules.
std::vector<Links> pcie_ways(const Machine& machine) {
  if (!machine.gpu.pcie) return {};
  return {pcie_way(catalog::slot_link(*machine.gpu.pcie, machine.host_pcie), machine.gpu.name)};
}

Links nvlink_way(Bandwidth rate, PathClass path, std::string source) {
  Links links;
  links.inside = rate;
  links.inside_class = path;
  links.inside_source = core::format_bandwidth(rate) + " of " + std::move(source);
  return links;
}

std::vector<Links> whole_machine(const Machine& machine, PathClass path) {
  const auto rate = catalog::intra_node_one_way(machine);
  if (!rate) return {};
  return {nvlink_way(rate->value, path, "NVLink per GPU in " + machine.name)};
}

Bandwidth rate_of(const Machine& machine, int links) {
  catalog::GpuLinks used = *machine.gpu.links;
  used.links = links;
  return used.one_way().value;
}

// Number of links between two GPUs, for every pair; 0 where pairs are not joined.
std::set<int> links_of_pairs(const Machine& machine) {
  std::set<int> counts;
  for (const catalog::GpuPair& pair : machine.gpu_pairs) counts.insert(pair.links);
  const auto all = static_cast<std::size_t>(machine.gpus) *
                   static_cast<std::size_t>(std::max(machine.gpus - 1, 0)) / 2;
  if (machine.gpu_pairs.size() < all) counts.insert(0);
  return counts;
}

std::vector<Links> two_gpus(const Machine& machine) {
  std::vector<Links> ways;
  for (const int links : links_of_pairs(machine))
    if (links > 0)
      ways.push_back(nvlink_way(rate_of(machine, links), PathClass::kNvlink,
                                fmt::format("NVLink between two GPUs of {} ({} link{})",
                                            machine.name, links, links == 1 ? "" : "s")));
    else
      for (Links& way : pcie_ways(machine)) ways.push_back(std::move(way));
  return ways;
}

std::vector<Links> mesh_ways(const Machine& machine, Op op, int ranks) {
  const std::set<int> counts = links_of_pairs(machine);
  const bool even = counts.size() == 1;
  if (ranks == machine.gpus && op != Op::kSendRecv)
    return whole_machine(machine, PathClass::kNvlink);
  if (ranks == 2 || (even && op == Op::kSendRecv)) return two_gpus(machine);
  if (!even) return {};  // which GPUs ran decides
  return {nvlink_way(rate_of(machine, *counts.begin() * (ranks - 1)), PathClass::kNvlink,
                     fmt::format("NVLink among {} GPUs of {}", ranks, machine.name))};
}

bool is_reducing(const Machine& machine) {
  return machine.gpu.links && machine.gpu.links->generation >= kFirstReducingNvlink;
}

// Every part of this size has the links that the whole has.
bool is_whole(const Machine& machine, Op op, int ranks) {
  if (machine.fabric == Fabric::kNvswitch) return true;
  return machine.fabric == Fabric::kMesh && ranks == machine.gpus && op != Op::kSendRecv;
}

bool is_known(const std::vector<Links>& ways, const Links& links) {
  return std::any_of(ways.begin(), ways.end(), [&](const Links& way) {
    return way.inside_class == links.inside_class &&
           std::abs(way.inside / links.inside - 1) < kSameRate;
  });
}

bool rates_differ(const std::vector<Links>& ways) {
  return std::any_of(ways.begin(), ways.end(), [&](const Links& way) {
    return std::abs(way.inside / ways.front().inside - 1) >= kSameRate;
  });
}

// The header names a GPU, not a machine.
std::string header_source(const Gpu& gpu, const Links& way) {
  return fmt::format("{} of {} per {} {} (GPU read from the header)",
                     core::format_bandwidth(way.inside), gpu.links->name, gpu.name,
                     way.inside_class == PathClass::kNvswitchReducing
                         ? "behind NVSwitch"
                         : "behind NVSwitch or in a mesh");
}

std::string open_text(const Gpu& gpu, int ranks, const std::vector<Links>& ways) {
  std::string text =
      fmt::format("the name {} does not tell over which links {} of them talk", gpu.name, ranks);
  for (std::size_t i = 0; i < ways.size(); ++i)
    text += (i == 0 ? ": " : ", or ") + ways[i].inside_source;
  return text;
}

// How many GPUs stand in one island of fast links (NVL72: more than a node has).
int island_gpus(const Machine& machine) { return std::max(machine.gpus, machine.scale_up_gpus); }

}  // namespace

std::vector<Links> inside_ways(const Machine& machine, Op op, int ranks) {
  if (ranks < 2) return {};
  switch (machine.fabric) {
    case Fabric::kNvswitch:
      return whole_machine(
          machine, is_reducing(machine) ? PathClass::kNvswitchReducing : PathClass::kNvlink);
    case Fabric::kMesh:
      return mesh_ways(machine, op, ranks);
    case Fabric::kBridge:  // a ring over several pairs crosses PCIe between them
      return ranks == 2 ? two_gpus(machine) : pcie_ways(machine);
    case Fabric::kPcie:
      return pcie_ways(machine);
    case Fabric::kC2c:
      return {};
  }
  return {};
}

Links links_of_machine(const Machine& machine, int ranks_per_node) {
  Links links;
  const auto ways = inside_ways(machine, Op::kAllReduce, ranks_per_node);
  if (ways.size() == 1) links = ways.front();
  const int gpus = island_gpus(machine);
  const int hosts = machine.gpus > 0 ? gpus / machine.gpus : 1;
  const int nics = machine.nics * hosts;
  if (nics == 0 || gpus == 0) return links;
  const catalog::NetworkOut out = catalog::network_out(machine, ranks_per_node);
  const int used = out.nics;
  const Bandwidth rate = out.nic;
  links.node_out = out.total;
  links.single_nic = rate * std::max(1, nics / gpus);
  links.node_total = rate * nics;
  links.between_source = fmt::format(
      "{} NIC{} x {} per {} of {}", used, used == 1 ? "" : "s", core::format_bandwidth(rate),
      hosts > 1 ? fmt::format("NVLink domain of {} nodes", hosts) : "node", machine.name);
  if (machine.nic.port_rate.basis == core::Basis::kAssumed)
    links.between_source += fmt::format(" (assumed: {})", machine.nic.port_rate.source);
  return links;
}

std::string gpu_family(const Gpu& gpu) {
  const std::size_t dash = gpu.name.rfind('-');
  if (dash == std::string::npos || !gpu.name.ends_with("GB")) return gpu.name;
  return gpu.name.substr(0, dash);
}

HeaderLinks links_of_gpu(const Gpu& gpu, Op op, int ranks, const catalog::Catalog& catalog) {
  HeaderLinks links;
  if (!gpu.links) {
    if (gpu.pcie) links.ways = {pcie_way(*gpu.pcie, gpu.name)};  // nothing else joins them
    return links;
  }
  bool all_whole = true;
  for (const Machine& machine : catalog.machines()) {
    if (gpu_family(machine.gpu) != gpu_family(gpu) || island_gpus(machine) < ranks) continue;
    all_whole = all_whole && is_whole(machine, op, ranks);
    for (const Links& way : inside_ways(machine, op, ranks))
      if (!is_known(links.ways, way)) links.ways.push_back(way);
  }
  if (!all_whole || (!links.ways.empty() && rates_differ(links.ways)))
    links.open = open_text(gpu, ranks, links.ways);
  else
    for (Links& way : links.ways) way.inside_source = header_source(gpu, way);
  return links;
}

}  // namespace comm_probe::diagnose
