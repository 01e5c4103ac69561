#include "model/machine_fabric.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/machine_figures.h"
#include "core/units.h"

namespace comm_probe::model {
namespace {

using core::Bandwidth;

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

constexpr const char* kAlphaSource = "NCCL 2.28.9 src/graph/tuning.cc, one step of a ring";

void set_inside(const catalog::InsideRates& rates, Protocol protocol, Fabric& fabric) {
  fabric.inside_step = rates.over_links ? StepClass::kNvlink : StepClass::kPcie;
  fabric.link = Link{step_alpha(*fabric.inside_step, protocol), rates.ring};
  fabric.one_peer = rates.one_peer;
  fabric.all_peers = rates.all_peers;
  if (!rates.gpus.empty()) fabric.source += ", " + rates.gpus;
}

core::Result<bool> add_between(const catalog::Machine& machine, Protocol protocol, Fabric& fabric) {
  if (machine.nics == 0)
    return core::input_error(
        fmt::format("{} has no NIC for GPU traffic in the catalog", machine.name),
        "price one node, or give --alpha, --beta, --inter-alpha, --inter-beta");
  const catalog::NetworkOut out = catalog::network_out(machine, fabric.ranks_per_node);
  fabric.between_step = StepClass::kNetwork;
  fabric.inter_alpha_source = kAlphaSource;
  fabric.inter = Link{step_alpha(StepClass::kNetwork, protocol), out.per_rank};
  fabric.rails = out.rails;
  fabric.rail = out.total / out.rails;
  fabric.source += fmt::format("; {} x {} per {}", out.nics, machine.nic.name,
                               trays_of_domain(machine) > 1 ? "NVLink domain" : "node");
  return true;
}

}  // namespace

core::Result<Fabric> fabric_of(const catalog::Machine& machine, const MachineRanks& ranks,
                               Protocol protocol) {
  const auto checked = check(machine, ranks);
  if (!checked) return checked.error();
  const int per_node = ranks.ranks / ranks.nodes;
  Fabric fabric{.ranks_per_node = std::min(ranks.ranks, per_node * trays_of_domain(machine)),
                .basis = core::Basis::kCatalog};
  fabric.source = fmt::format("{}, {}", machine.name, machine.gpu.name);
  fabric.alpha_source = kAlphaSource;
  fabric.switch_reduces = can_reduce_in_switch(machine);
  const auto inside = catalog::inside_rates(machine, fabric.ranks_per_node);
  if (inside) set_inside(*inside, protocol, fabric);
  if (ranks.nodes > trays_of_domain(machine)) {
    const auto added = add_between(machine, protocol, fabric);
    if (!added) return added.error();
  }
  if (inside) return fabric;
  if (!fabric.inter)
    return core::input_error(
        fmt::format("{} has no link between GPUs in the catalog", machine.name),
        "price several nodes with --nodes");
  fabric.link = *fabric.inter;  // one GPU per node: nothing happens inside
  fabric.inside_step = fabric.between_step;
  return fabric;
}

bool can_reduce_in_switch(const catalog::Machine& machine) {
  constexpr int kHopper = 90;
  return machine.fabric == catalog::Fabric::kNvswitch && machine.gpu.sm >= kHopper;
}

}  // namespace comm_probe::model
