#include "cli/nic_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

// The generation of every link on the way: given, or the GPU's own.
core::Result<int> generation_of(std::optional<int> given, const catalog::Gpu& gpu) {
  if (given && (*given < 1 || *given > 6))
    return input_error(fmt::format("--pcie {} is not a generation, expected 1 to 6", *given));
  if (given) return *given;
  if (!gpu.pcie)
    return input_error(fmt::format("{} has no PCIe link in the catalog", gpu.name),
                       "give --pcie GENERATION");
  return gpu.pcie->generation;
}

}  // namespace

core::Result<NicChoice> choose_nic(const catalog::Catalog& catalog, const std::string& name) {
  using model::Transport;
  if (const catalog::NetworkRate* rate = catalog::find_network_rate(name))
    return NicChoice{rate->data,
                     rate->rate_text.empty() ? Transport::kRoce : Transport::kInfiniBand,
                     {},
                     core::Basis::kCatalog,
                     std::string(rate->source)};
  if (const catalog::Nic* nic = catalog.find_nic(name))
    return NicChoice{nic->rate(),
                     nic->pci_class == "0x020000" ? Transport::kRoce : Transport::kInfiniBand,
                     nic->pcie, core::Basis::kCatalog, nic->source};
  if (const auto rate = core::parse_bandwidth(name))
    return NicChoice{
        *rate, Transport::kInfiniBand, {}, core::Basis::kAssumed, "given on the command line"};
  return input_error(fmt::format("unknown NIC '{}'", name),
                     "give a port rate (HDR, NDR, XDR, 400GbE), a NIC (ConnectX-7) or a bandwidth "
                     "(400Gb/s)");
}

core::Result<model::PathMachine> path_machine(const catalog::Gpu& gpu, const NicChoice& nic,
                                              std::optional<int> given) {
  const auto generation = generation_of(given, gpu);
  if (!generation) return generation.error();
  const int lanes = gpu.pcie ? gpu.pcie->lanes : 16;
  const auto link = catalog::find_pcie(*generation, lanes);
  if (!link) return input_error(fmt::format("no PCIe link gen{} x{}", *generation, lanes));
  model::PathMachine machine{.nic = nic.rate, .transport = nic.transport};
  machine.gpu_link = machine.uplink = *link;
  machine.nic_link =
      nic.pcie ? catalog::pcie(std::min(nic.pcie->generation, *generation), nic.pcie->lanes)
               : catalog::pcie(*generation, 16);
  machine.host_memory = model::assumed_host_memory(*generation, gpu.sm, nic.rate);
  return machine;
}

}  // namespace comm_probe::cli
