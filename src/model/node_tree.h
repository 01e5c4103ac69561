// Two binary trees over the same nodes, each of which is a leaf in one of them, so that both
// together use all links both ways: those of NCCL 2.28.9 (src/graph/trees.cc; nccl/node_tree.h).
//
//   4 nodes: first tree 0 -> 2 -> {1, 3}; second tree 3 -> 1 -> {2, 0}
#pragma once

#include <array>

namespace comm_probe::model {

struct NodeTree {
  int up = -1;
  std::array<int, 2> down = {-1, -1};
  int place_at_parent = 0;  // which child of `up` this node is
};

enum class TreeHalf { kFirst = 0, kSecond = 1 };

NodeTree node_tree(int nodes, int node, TreeHalf half);

}  // namespace comm_probe::model
