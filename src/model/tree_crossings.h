// How many edges of a tree over all ranks leave a node? A tree that knows nothing of nodes crosses
// with nearly every edge, and all of them share what leaves the node: the busiest node sets the
// rate.
//
//   binary tree, parent (r-1)/2   128 ranks in nodes of 8: 16 edges leave node 1 downwards
//   two trees (node_tree.h)       the same: 3 of both together; never fewer than the 2 of one rank
#pragma once

namespace comm_probe::model {

// Edges of the busiest node in one direction, at least 1; of one node 0.
int tree_crossings(int ranks, int ranks_per_node);
int double_tree_crossings(int ranks, int ranks_per_node);

}  // namespace comm_probe::model
