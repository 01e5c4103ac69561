#include "catalog/machine_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/units.h"

namespace comm_probe::catalog {
namespace {

using core::Bandwidth;
using core::Basis;
using core::Sourced;

constexpr std::array<std::pair<Fabric, std::string_view>, 5> kFabricNames = {{
    {Fabric::kNvswitch, "nvswitch"},
    {Fabric::kMesh, "mesh"},
    {Fabric::kBridge, "bridge"},
    {Fabric::kPcie, "pcie"},
    {Fabric::kC2c, "c2c"},
}};

// Direct links of GPU 0; the catalog holds only machines whose GPUs have the same number.
int direct_links(const Machine& machine) {
  int links = 0;
  for (const GpuPair& pair : machine.gpu_pairs)
    if (pair.first == 0 || pair.second == 0) links += pair.links;
  return links;
}

// NVLinks of one GPU that lead to other GPUs or to switches here (0 without NVLink).
int nvlinks_in_use(const Machine& machine) {
  if (machine.fabric == Fabric::kNvswitch)
    return std::accumulate(machine.switch_links.begin(), machine.switch_links.end(), 0);
  return direct_links(machine);
}

Sourced<Bandwidth> used_links(const Machine& machine) {
  GpuLinks used = *machine.gpu.links;
  used.links = nvlinks_in_use(machine);
  return used.one_way();
}

int links_between(const Machine& machine, int a, int b) {
  for (const GpuPair& pair : machine.gpu_pairs)
    if ((pair.first == a && pair.second == b) || (pair.first == b && pair.second == a))
      return pair.links;
  return 0;
}

// What one GPU has to the others of a part of a mesh.
struct MeshPeers {
  int links = 0;
  int joined = 0;
  int fewest = 0;  // links to one joined peer
};
MeshPeers peers_of(const Machine& machine, int gpu, int ranks) {
  MeshPeers peers;
  for (int other = 0; other < ranks; ++other) {
    const int links = other == gpu ? 0 : links_between(machine, gpu, other);
    if (links == 0) continue;
    peers.links += links;
    peers.fewest = ++peers.joined == 1 ? links : std::min(peers.fewest, links);
  }
  return peers;
}

std::optional<Bandwidth> gpu_pcie_rate(const Machine& machine) {
  if (!machine.gpu.pcie) return std::nullopt;
  return slot_link(*machine.gpu.pcie, machine.host_pcie).effective().value;
}

std::optional<InsideRates> over_pcie(const Machine& machine) {
  const auto rate = gpu_pcie_rate(machine);
  if (!rate) return std::nullopt;
  return InsideRates{*rate, *rate, *rate, false, ""};
}

// A ring needs two joined peers at every GPU; where one has fewer, PCIe closes it.
std::optional<InsideRates> inside_mesh(const Machine& machine, int ranks) {
  const Bandwidth link = machine.gpu.links->per_link.value;
  const auto pcie = gpu_pcie_rate(machine);
  InsideRates rates{.over_links = true, .gpus = fmt::format("GPUs 0 to {}", ranks - 1)};
  for (int gpu = 0; gpu < ranks; ++gpu) {
    const MeshPeers peers = peers_of(machine, gpu, ranks);
    const int others = ranks - 1, apart = others - peers.joined;
    if (peers.joined < std::min(2, others)) return over_pcie(machine);
    Bandwidth all = std::min(link * peers.links, link * (peers.fewest * others));
    if (apart > 0 && pcie) all = std::min(all, *pcie * (static_cast<double>(others) / apart));
    const auto least = [gpu](Bandwidth a, Bandwidth b) { return gpu == 0 ? b : std::min(a, b); };
    rates.ring = least(rates.ring, link * peers.links);
    rates.one_peer = least(rates.one_peer, link * peers.fewest);
    rates.all_peers = least(rates.all_peers, all);
  }
  return rates;
}

// The host side of PCIe, where bytes between GPU and NIC pass it.
std::optional<PcieLink> host_on_the_way(const Machine& machine) {
  for (const Branch& branch : machine.branches)
    if (branch.kind == Branch::Kind::kRootPorts && !branch.nets.empty()) return machine.host_pcie;
  return std::nullopt;
}

}  // namespace

const char* fabric_name(Fabric fabric) {
  for (const auto& [value, name] : kFabricNames)
    if (value == fabric) return name.data();
  return "";
}

std::optional<Fabric> fabric_from_name(std::string_view name) {
  for (const auto& [value, known] : kFabricNames)
    if (known == name) return value;
  return std::nullopt;
}

std::optional<Sourced<Bandwidth>> pair_one_way(const Machine& machine) {
  if (machine.gpu_pairs.empty()) return std::nullopt;
  GpuLinks used = *machine.gpu.links;
  used.links = machine.gpu_pairs.front().links;
  return used.one_way();
}

std::optional<Sourced<Bandwidth>> intra_node_one_way(const Machine& machine) {
  if (machine.gpus < 2 && machine.scale_up_gpus < 2) return std::nullopt;
  if (machine.fabric != Fabric::kBridge && nvlinks_in_use(machine) > 0) return used_links(machine);
  if (!machine.gpu.pcie) return std::nullopt;
  Sourced<Bandwidth> effective = slot_link(*machine.gpu.pcie, machine.host_pcie).effective();
  effective.source = fmt::format(
      "PCIe {}: {}", slot_link(*machine.gpu.pcie, machine.host_pcie).name(), effective.source);
  return effective;
}

std::optional<InsideRates> inside_rates(const Machine& machine, int ranks) {
  const bool is_mesh = machine.fabric == Fabric::kMesh;
  const bool is_bridged_pair = machine.fabric == Fabric::kBridge && ranks == 2;
  if ((is_mesh || is_bridged_pair) && ranks > 1 && ranks <= machine.gpus &&
      !machine.gpu_pairs.empty())
    return inside_mesh(machine, ranks);
  const auto rate = intra_node_one_way(machine);
  if (!rate) return std::nullopt;
  const bool over_links = machine.fabric != Fabric::kBridge && nvlinks_in_use(machine) > 0;
  return InsideRates{rate->value, rate->value, rate->value, over_links, ""};
}

int trays_of_domain(const Machine& machine) {
  return std::max(1, machine.scale_up_gpus / std::max(machine.gpus, 1));
}

NetworkOut network_out(const Machine& machine, int ranks) {
  const int hosts = trays_of_domain(machine);
  const int gpus = machine.gpus * hosts, nics = machine.nics * hosts;
  if (nics == 0 || gpus == 0 || ranks < 1) return {};
  NetworkOut out;
  out.nics = std::min(nics, std::max(1, (nics * ranks + gpus - 1) / gpus));
  out.rails = std::max(1, machine.nets() * hosts * out.nics / nics);
  const auto host = host_on_the_way(machine);
  out.nic = std::min(machine.nic.rate(), slot_link(machine.nic.pcie, host).effective().value);
  out.total = out.nic * out.nics;
  if (machine.gpu.pcie && machine.c2c_links == 0)
    out.total = std::min(out.total, slot_link(*machine.gpu.pcie, host).effective().value * ranks);
  out.per_rank = out.total / ranks;
  return out;
}

Sourced<Bandwidth> nic_total(const Machine& machine) {
  if (machine.nics == 0) return {Bandwidth(), Basis::kCatalog, "no NIC"};
  const Bandwidth nic = network_out(machine, machine.gpus).nic;
  return {
      nic * machine.nics, Basis::kCatalog,
      fmt::format("{} x {} at {}: {}", machine.nics, machine.nic.name, core::format_bandwidth(nic),
                  nic < machine.nic.rate() ? "what PCIe lets through to a NIC in its slot"
                                           : machine.nic.port_rate.source)};
}

Sourced<Bandwidth> nic_share(const Machine& machine) {
  const Sourced<Bandwidth> total = nic_total(machine);
  const int hosts = trays_of_domain(machine);
  return {network_out(machine, machine.gpus * hosts).per_rank, Basis::kCatalog,
          fmt::format("{} over {} GPUs: {}", core::format_bandwidth(total.value), machine.gpus,
                      total.source)};
}

std::optional<double> nvlink_over_nic(const Machine& machine) {
  const auto inside = intra_node_one_way(machine);
  if (!inside || machine.nics == 0 || nvlinks_in_use(machine) == 0 ||
      machine.fabric == Fabric::kBridge)
    return std::nullopt;
  return inside->value / nic_share(machine).value;
}

double nic_over_pcie(Bandwidth nic_rate, const PcieLink& link) {
  return nic_rate / link.nominal().value;
}

PcieLink slot_link(const PcieLink& device, const std::optional<PcieLink>& uplink) {
  if (!uplink) return device;
  return {std::min(device.generation, uplink->generation), std::min(device.lanes, uplink->lanes)};
}

Sourced<Bandwidth> host_memory_bandwidth(const Machine& machine) {
  const Sourced<Bandwidth>& socket = machine.cpu.memory_bandwidth;
  return {socket.value * machine.sockets, Basis::kCatalog,
          fmt::format("{} x {}: {}", machine.sockets, core::format_bandwidth(socket.value),
                      socket.source)};
}

}  // namespace comm_probe::catalog
