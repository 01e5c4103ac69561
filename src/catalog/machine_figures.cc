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

Sourced<Bandwidth> used_links(const Machine& machine) {
  GpuLinks used = *machine.gpu.links;
  used.links = nvlinks_in_use(machine);
  return used.one_way();
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

int nvlinks_in_use(const Machine& machine) {
  if (machine.fabric == Fabric::kNvswitch)
    return std::accumulate(machine.switch_links.begin(), machine.switch_links.end(), 0);
  return direct_links(machine);
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

Sourced<Bandwidth> nic_total(const Machine& machine) {
  if (machine.nics == 0) return {Bandwidth(), Basis::kCatalog, "no NIC"};
  return {machine.nic.rate() * machine.nics, Basis::kCatalog,
          fmt::format("{} x {} at {}: {}", machine.nics, machine.nic.name,
                      core::format_bandwidth(machine.nic.rate()), machine.nic.port_rate.source)};
}

Sourced<Bandwidth> nic_share(const Machine& machine) {
  const Sourced<Bandwidth> total = nic_total(machine);
  return {total.value / machine.gpus, Basis::kCatalog,
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
