#include "model/machine_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "catalog/machine_figures.h"
#include "core/units.h"

namespace comm_probe::model {
namespace {

using core::Bandwidth;

// Inside golden G1-17 (2 to 5 us on NVLink) and G1-16 (5 to 20 us over InfiniBand) with Simple.
constexpr const char* kRingLatency = "NCCL 2.28.9 src/graph/tuning.cc, latency of a ring step";
constexpr std::array kStepAlphas = {
    StepAlpha{StepClass::kNvlink, Protocol::kLl, 0.6, kRingLatency},
    StepAlpha{StepClass::kNvlink, Protocol::kLl128, 1.9, kRingLatency},
    StepAlpha{StepClass::kNvlink, Protocol::kSimple, 3.4, kRingLatency},
    StepAlpha{StepClass::kPcie, Protocol::kLl, 1.0, kRingLatency},
    StepAlpha{StepClass::kPcie, Protocol::kLl128, 2.5, kRingLatency},
    StepAlpha{StepClass::kPcie, Protocol::kSimple, 5.7, kRingLatency},
    StepAlpha{StepClass::kNetwork, Protocol::kLl, 2.7, kRingLatency},
    StepAlpha{StepClass::kNetwork, Protocol::kLl128, 4.0, kRingLatency},
    StepAlpha{StepClass::kNetwork, Protocol::kSimple, 14.0, kRingLatency},
};

// GPUs that share the links inside: the node, or the NVLink domain where it is larger (NVL72).
int island_of(const catalog::Machine& machine) {
  return std::max(machine.gpus, machine.scale_up_gpus);
}

core::Result<bool> check(const catalog::Machine& machine, const MachineRanks& ranks) {
  if (ranks.ranks < 1 || ranks.nodes < 1)
    return core::input_error(fmt::format("{} ranks on {} nodes, expected at least one of each",
                                         ranks.ranks, ranks.nodes));
  if (ranks.ranks % ranks.nodes != 0)
    return core::input_error(
        fmt::format("{} ranks do not fill {} nodes evenly", ranks.ranks, ranks.nodes));
  if (ranks.ranks / ranks.nodes > machine.gpus)
    return core::input_error(
        fmt::format("{} ranks on {} nodes, but a {} has {} GPU{}", ranks.ranks, ranks.nodes,
                    machine.name, machine.gpus, machine.gpus == 1 ? "" : "s"),
        "add nodes with --nodes");
  return true;
}

// What the NICs of a node give one rank, and what one GPU can pass to them.
Bandwidth rank_share(const catalog::Machine& machine, int ranks_per_node) {
  const catalog::PcieLink slot = catalog::slot_link(machine.nic.pcie, machine.host_pcie);
  const Bandwidth per_nic = std::min(machine.nic.rate(), slot.effective().value);
  Bandwidth share = per_nic * machine.nics / ranks_per_node;
  if (machine.gpu.pcie && machine.c2c_links == 0)
    share =
        std::min(share, catalog::slot_link(*machine.gpu.pcie, machine.host_pcie).effective().value);
  return share;
}

std::optional<Link> inside_link(const catalog::Machine& machine, Protocol protocol) {
  const auto rate = catalog::intra_node_one_way(machine);
  if (!rate) return std::nullopt;
  // the links of a bridge join pairs only; between pairs it is PCIe
  const bool is_nvlink =
      machine.fabric != catalog::Fabric::kBridge && catalog::nvlinks_in_use(machine) > 0;
  return Link{step_alpha(is_nvlink ? StepClass::kNvlink : StepClass::kPcie, protocol), rate->value};
}

core::Result<bool> add_between(const catalog::Machine& machine, const MachineRanks& ranks,
                               Protocol protocol, Fabric& fabric) {
  if (machine.nics == 0)
    return core::input_error(
        fmt::format("{} has no NIC for GPU traffic in the catalog", machine.name),
        "price one node, or give --alpha, --beta, --inter-alpha, --inter-beta");
  fabric.inter = Link{step_alpha(StepClass::kNetwork, protocol),
                      rank_share(machine, ranks.ranks / ranks.nodes)};
  if (machine.scale_up_gpus > machine.gpus) fabric.ranks_per_node = machine.scale_up_gpus;
  fabric.rails = fabric.ranks_per_node;
  fabric.source += fmt::format("; {} x {} per node", machine.nics, machine.nic.name);
  return true;
}

}  // namespace

std::span<const StepAlpha> step_alphas() { return kStepAlphas; }

core::Duration step_alpha(StepClass step, Protocol protocol) {
  for (const StepAlpha& row : kStepAlphas)
    if (row.step == step && row.protocol == protocol) return core::Duration::from_us(row.alpha_us);
  COMM_PROBE_CHECK(false, "a step without an alpha");
}

core::Result<Fabric> fabric_of(const catalog::Machine& machine, const MachineRanks& ranks,
                               Protocol protocol) {
  const auto checked = check(machine, ranks);
  if (!checked) return checked.error();
  Fabric fabric{.ranks_per_node = ranks.ranks / ranks.nodes, .basis = core::Basis::kCatalog};
  fabric.source = fmt::format("{}, {}", machine.name, machine.gpu.name);
  const bool in_one_island = ranks.ranks <= island_of(machine);
  if (!in_one_island) {
    const auto added = add_between(machine, ranks, protocol, fabric);
    if (!added) return added.error();
  } else {
    fabric.ranks_per_node = ranks.ranks;
  }
  if (const auto inside = inside_link(machine, protocol))
    fabric.link = *inside;
  else if (fabric.inter)
    fabric.link = *fabric.inter;  // one GPU per node: nothing happens inside
  else
    return core::input_error(
        fmt::format("{} has no link between GPUs in the catalog", machine.name),
        "price several nodes with --nodes");
  return fabric;
}

bool can_reduce_in_switch(const catalog::Machine& machine) {
  constexpr int kHopper = 90;
  return machine.fabric == catalog::Fabric::kNvswitch && machine.gpu.sm >= kHopper;
}

}  // namespace comm_probe::model
