#include "model/fabric.h"

#include <algorithm>

namespace comm_probe::model {

namespace {

void cross_nodes(const Fabric& fabric, Placement& at) {
  const core::Bandwidth out = fabric.rail.value_or(at.inter.beta) * fabric.rails;
  const core::Duration alpha = std::max(fabric.link.alpha, at.inter.alpha);
  const auto across = [&](Link& link, core::Bandwidth between) {
    link = at.ranks_per_node == 1 ? Link{at.inter.alpha, between}
                                  : Link{alpha, std::min(link.beta, between)};
  };
  across(at.slowest, at.inter.beta);
  across(at.railed, out);
}

}  // namespace

Fabric with_protocol(Fabric fabric, Protocol protocol) {
  if (fabric.inside_step) fabric.link.alpha = step_alpha(*fabric.inside_step, protocol);
  if (fabric.between_step && fabric.inter)
    fabric.inter->alpha = step_alpha(*fabric.between_step, protocol);
  return fabric;
}

Placement place(int ranks, const Fabric& fabric) {
  Placement placement{.ranks = ranks, .intra = fabric.link};
  placement.ranks_per_node =
      fabric.ranks_per_node > 0 ? std::min(fabric.ranks_per_node, ranks) : ranks;
  placement.nodes = (ranks + placement.ranks_per_node - 1) / placement.ranks_per_node;
  placement.is_even = placement.nodes * placement.ranks_per_node == ranks;
  placement.inter = fabric.inter.value_or(fabric.link);
  placement.has_own_nics = !fabric.rail && fabric.rails == 1;
  const core::Duration inside = fabric.link.alpha;
  const core::Bandwidth one = fabric.one_peer.value_or(fabric.link.beta);
  const core::Bandwidth branches = ranks > 2 ? std::min(one * 2, fabric.link.beta) : one;
  placement.railed = fabric.link;
  placement.partner = {inside, one};
  placement.branched = {inside, branches};
  placement.slowest = {inside, fabric.all_peers.value_or(fabric.link.beta)};
  if (placement.nodes > 1) cross_nodes(fabric, placement);
  return placement;
}

}  // namespace comm_probe::model
