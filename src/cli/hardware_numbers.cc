#include <fmt/format.h>

#include "cli/hardware_view.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using catalog::Gpu;
using catalog::Machine;
using catalog::Nic;
using core::Bandwidth;
using core::Sourced;

HardwareNumber rate(std::string key, std::string label, const Sourced<Bandwidth>& number) {
  return {std::move(key), std::move(label), core::format_bandwidth(number.value),
          core::figure(number.value, number.basis, number.source)};
}

HardwareNumber ratio(std::string key, std::string label, double value, std::string source) {
  return {std::move(key),
          std::move(label),
          core::format_number(value),
          {.value = value, .basis = core::Basis::kComputed, .source = std::move(source)}};
}

void append(HardwareNumbers& all, HardwareNumbers more) {
  for (HardwareNumber& number : more) all.push_back(std::move(number));
}

// The four numbers of a PCIe link, which are never mixed.
HardwareNumbers pcie_numbers(const std::string& key, const std::string& whose,
                             const catalog::PcieLink& link) {
  const std::string label = fmt::format("{} PCIe {}", whose, link.name());
  return {rate(key + "_nominal_GBps", label + ", nominal", link.nominal()),
          rate(key + "_raw_GBps", label + ", raw", link.raw()),
          rate(key + "_effective_GBps", label + ", effective", link.effective()),
          rate(key + "_nccl_GBps", label + ", in NCCL's model", link.nccl())};
}

HardwareNumbers link_numbers(const catalog::GpuLinks& links, int sm) {
  HardwareNumbers all = {
      rate("link_GBps", fmt::format("one {} link, one way", links.name), links.per_link),
      rate("links_one_way_GBps", fmt::format("all {} links of a GPU, one way", links.links),
           links.one_way()),
      rate("links_both_ways_GBps", "the same, both ways", links.both_ways())};
  if (links.generation > 0) {
    const auto constant = catalog::nccl_nvlink_per_link(sm);
    all.push_back(rate("links_nccl_GBps", "all links in NCCL's model, one way",
                       {constant.value * links.links, constant.basis,
                        fmt::format("{} x {}: {}", links.links,
                                    core::format_bandwidth(constant.value), constant.source)}));
  }
  return all;
}

void append_inside(HardwareNumbers& all, const Machine& machine) {
  const auto inside = catalog::intra_node_one_way(machine);
  if (inside)
    all.push_back(rate("intra_node_one_way_GBps", "one GPU to its neighbours, one way", *inside));
  if (const auto pair = pair_one_way(machine))
    all.push_back(rate("pair_one_way_GBps", "two joined GPUs, one way", *pair));
  if (machine.c2c_links > 0)
    all.push_back(rate("c2c_one_way_GBps", "one GPU to its CPU over C2C, one way",
                       {machine.c2c_per_link.value * machine.c2c_links, machine.c2c_per_link.basis,
                        fmt::format("{} links x {}: {}", machine.c2c_links,
                                    core::format_bandwidth(machine.c2c_per_link.value),
                                    machine.c2c_per_link.source)}));
}

void append_network(HardwareNumbers& all, const Machine& machine) {
  if (machine.nics == 0) return;
  all.push_back(rate("nic_total_GBps", "all NICs, one way", nic_total(machine)));
  all.push_back(rate("nic_share_GBps", "NIC share of one GPU, one way", nic_share(machine)));
  if (const auto over = nvlink_over_nic(machine))
    all.push_back(ratio("nvlink_over_nic", "links of a GPU over its NIC share", *over,
                        "one GPU to its neighbours / NIC share of one GPU"));
}

}  // namespace

HardwareNumbers numbers_of(const Gpu& gpu) {
  HardwareNumbers all = {{"memory_B", "memory", core::format_bytes(gpu.memory.value),
                          core::figure(gpu.memory.value, gpu.memory.basis, gpu.memory.source)},
                         rate("memory_bandwidth_GBps", "memory bandwidth", gpu.memory_bandwidth)};
  if (gpu.links) append(all, link_numbers(*gpu.links, gpu.sm));
  if (gpu.pcie) append(all, pcie_numbers("pcie", "GPU", *gpu.pcie));
  return all;
}

HardwareNumbers numbers_of(const Nic& nic) {
  HardwareNumbers all = {rate("port_GBps", "one port, one way", nic.port_rate)};
  if (nic.ports > 1)
    all.push_back(rate("nic_GBps", fmt::format("{} ports, one way", nic.ports),
                       {nic.rate(), nic.port_rate.basis, fmt::format("{} x one port", nic.ports)}));
  append(all, pcie_numbers("nic_pcie", "NIC", nic.pcie));
  const double share = catalog::nic_over_pcie(nic.rate(), nic.pcie);
  all.push_back(ratio("nic_over_pcie", "NIC rate over its PCIe link", share, "nominal by nominal"));
  all.back().shown = core::format_percent(share);
  return all;
}

HardwareNumbers numbers_of(const Machine& machine) {
  HardwareNumbers all;
  append_inside(all, machine);
  append_network(all, machine);
  all.push_back(
      rate("host_memory_GBps", "host memory, all sockets", host_memory_bandwidth(machine)));
  if (machine.sockets > 1)
    all.push_back(rate("socket_link_nccl_GBps", "between sockets, in NCCL's model",
                       catalog::find_socket_link(machine.cpu.socket_link)->sourced()));
  return all;
}

}  // namespace comm_probe::cli
