// Nodes that are slow whoever the partner is, told from nodes of another rack.
//
// A node is compared with every other one by what both reach with the same partners. A slow node
// reaches less than its mates with nearly every partner and more with none. A node of another rack
// reaches less with partners of that rack and more with those of its own: that is the fabric, not
// the node. So racks of any size, and several levels of rates, accuse nobody.
//
//   two racks of 8, 48 GB/s inside and 28 between; node03 half of that with everybody: 24 and 14
//   node03 beside a mate: 0.5 with all 14 partners                       -> node03
//   a node of rack 2 beside one of rack 1: 0.58 with 7, 1.71 with the other 7  -> nobody
//
// Noise: the median of the shares must lie four of its own standard errors below 1, by the spread
// of the shares of all pairs of nodes.
#pragma once

#include <string>
#include <vector>

#include "diagnose/pair_graph.h"

namespace comm_probe::diagnose {

struct SlowNode {
  std::string name = {};
  double share = 1;       // of what its mates reach with the same partners: the median
  std::size_t mates = 0;  // that it was compared with and is slower than
};
// Of graphs in which nodes have two partners or more in common.
std::vector<SlowNode> slow_nodes_of(const PairGraph& graph, double slow_share);

}  // namespace comm_probe::diagnose
