// How many edges of a tree over all ranks meet in one place? A tree that knows nothing of nodes
// crosses with nearly every edge. Where every rank has a NIC of its own, its edges share that;
// where the NICs of a node are one for its ranks, all edges of the node share them.
//
//   binary tree, parent (r-1)/2   128 ranks in nodes of 8: 16 edges leave node 1 downwards, 2 of
//                                 them from one rank
//   two trees (node_tree.h)       the same: 6 edges of both trees together end in the busiest node,
//                                 3 of them at one rank
#pragma once

#include "model/fabric.h"

namespace comm_probe::model {

// The most of any rank to ranks of its node, of any rank to other nodes, of any node to others.
struct TreeEdges {
  int inside = 0, of_rank = 0, of_node = 0;
};
// Down to the children.
TreeEdges tree_edges(int ranks, int ranks_per_node);
// kOne: down to the children or up to the parents of both trees, whichever is more, and never fewer
// than the 2 with which a root hands out the message. kBoth: to all neighbours, because up and down
// go on at the same time.
enum class TreeWaves { kOne, kBoth };
TreeEdges double_tree_edges(int ranks, int ranks_per_node, TreeWaves waves);

// What the busiest rank has for all its edges to other nodes together, when all edges of its node
// are in use.
core::Bandwidth crossing_rate(const Placement& at, const TreeEdges& edges);

}  // namespace comm_probe::model
