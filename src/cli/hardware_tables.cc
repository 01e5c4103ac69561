#include <fmt/format.h>

#include "cli/hardware_view.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using catalog::Gpu;
using catalog::Machine;
using catalog::Nic;
using core::Column;
using core::Table;

constexpr auto kLeft = Column::Align::kLeft;

std::string in_GBps(core::Bandwidth bandwidth) { return core::format_number(bandwidth.in_GBps()); }

}  // namespace

Table machine_table(const catalog::Catalog& catalog) {
  Table table{{{"machine", kLeft},
               {"GPUs", kLeft},
               {"fabric", kLeft, 9},
               {"GB/s in"},
               {"NICs", kLeft, 7},
               {"GB/s out"},
               {"per GPU", Column::Align::kRight, 9}},
              {}};
  for (const Machine& machine : catalog.machines()) {
    const auto inside = intra_node_one_way(machine);
    table.rows.push_back(
        {machine.name, fmt::format("{} x {}", machine.gpus, machine.gpu.name),
         fabric_name(machine.fabric), inside ? in_GBps(inside->value) : "-",
         machine.nics > 0 ? fmt::format("{} x {}", machine.nics, machine.nic.name) : "-",
         in_GBps(nic_total(machine).value), in_GBps(nic_share(machine).value)});
  }
  return table;
}

Table gpu_table(const catalog::Catalog& catalog) {
  Table table{{{"GPU", kLeft},
               {"printed as", kLeft, 5},
               {"cc", Column::Align::kRight, 9},
               {"memory"},
               {"GB/s"},
               {"links", kLeft},
               {"one way"},
               {"PCIe", kLeft, 9}},
              {}};
  for (const Gpu& gpu : catalog.gpus())
    table.rows.push_back(
        {gpu.name, gpu.printed.empty() ? "-" : gpu.printed.front(),
         gpu.sm > 0 ? fmt::format("{}.{}", gpu.sm / 10, gpu.sm % 10) : "-",
         core::format_bytes(gpu.memory.value), in_GBps(gpu.memory_bandwidth.value),
         gpu.links ? fmt::format("{} x {}", gpu.links->links, gpu.links->name) : "-",
         gpu.links ? in_GBps(gpu.links->one_way().value) : "-", gpu.pcie ? gpu.pcie->name() : "-"});
  return table;
}

Table nic_table(const catalog::Catalog& catalog) {
  Table table{{{"NIC", kLeft},
               {"ports"},
               {"Gb/s a port"},
               {"GB/s in all"},
               {"PCIe", kLeft},
               {"NIC/PCIe"},
               {"RDMA", kLeft}},
              {}};
  for (const Nic& nic : catalog.nics())
    table.rows.push_back({nic.name, std::to_string(nic.ports),
                          core::format_number(nic.port_rate.value.in_Gbps()), in_GBps(nic.rate()),
                          nic.pcie.name(),
                          core::format_percent(catalog::nic_over_pcie(nic.rate(), nic.pcie)),
                          nic.can_rdma ? "yes" : "no"});
  return table;
}

std::vector<core::Block> link_tables() {
  Table pcie{{{"PCIe", kLeft}, {"nominal"}, {"raw"}, {"effective"}, {"in NCCL"}}, {}};
  for (int generation = 3; generation <= 6; ++generation)
    for (const int lanes : {1, 4, 8, 16}) {
      const catalog::PcieLink link = catalog::pcie(generation, lanes);
      pcie.rows.push_back({link.name(), in_GBps(link.nominal().value), in_GBps(link.raw().value),
                           in_GBps(link.effective().value), in_GBps(link.nccl().value)});
    }
  Table nvlink{{{"NVLink", kLeft}, {"one link"}, {"source", kLeft}}, {}};
  for (int generation = 1; generation <= 5; ++generation) {
    const catalog::GpuLinks link = catalog::nvlink(generation, 1);
    nvlink.rows.push_back({link.name, in_GBps(link.per_link.value), link.per_link.source});
  }
  Table network{{{"port", kLeft}, {"Gb/s"}, {"GB/s"}, {"in sysfs", kLeft}}, {}};
  for (const catalog::NetworkRate& rate : catalog::network_rates())
    network.rows.push_back({std::string(rate.name), core::format_number(rate.data.in_Gbps()),
                            in_GBps(rate.data), std::string(rate.rate_text)});
  Table sockets{{{"between sockets", kLeft}, {"in NCCL"}, {"applies to", kLeft}}, {}};
  for (const catalog::SocketLink& link : catalog::socket_links())
    sockets.rows.push_back(
        {std::string(link.name), in_GBps(link.nccl), std::string(link.applies_when)});
  return {core::Heading{"PCIe, GB/s in one direction (effective: packets of 256 B)"},
          pcie,
          core::Heading{"NVLink, GB/s in one direction"},
          nvlink,
          core::Heading{"Network ports, one direction"},
          network,
          core::Heading{"Between CPU sockets, GB/s in NCCL's model"},
          sockets};
}

}  // namespace comm_probe::cli
