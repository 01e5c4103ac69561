#include "model/fabric.h"

#include <algorithm>

namespace comm_probe::model {

Placement place(int ranks, const Fabric& fabric) {
  Placement placement{.ranks = ranks, .intra = fabric.link};
  placement.ranks_per_node =
      fabric.ranks_per_node > 0 ? std::min(fabric.ranks_per_node, ranks) : ranks;
  placement.nodes = (ranks + placement.ranks_per_node - 1) / placement.ranks_per_node;
  placement.is_even = placement.nodes * placement.ranks_per_node == ranks;
  placement.inter = fabric.inter.value_or(fabric.link);
  placement.slowest = placement.railed = fabric.link;
  if (placement.nodes == 1) return placement;
  const core::Duration alpha = std::max(fabric.link.alpha, placement.inter.alpha);
  placement.slowest = {alpha, std::min(fabric.link.beta, placement.inter.beta)};
  placement.railed = {alpha, std::min(fabric.link.beta, placement.inter.beta * fabric.rails)};
  if (placement.ranks_per_node == 1) placement.slowest = placement.railed = placement.inter;
  return placement;
}

}  // namespace comm_probe::model
