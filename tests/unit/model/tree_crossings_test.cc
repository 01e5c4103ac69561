// Edges that leave a node, counted one by one from the parents.
#include "model/tree_crossings.h"

#include <gtest/gtest.h>

#include <map>

namespace comm_probe::model {
namespace {

// Of the tree in which rank r hangs on (r - 1) / 2.
int counted(int ranks, int per_node) {
  std::map<int, int> down, in;
  for (int rank = 1; rank < ranks; ++rank) {
    const int parent = (rank - 1) / 2;
    if (parent / per_node == rank / per_node) continue;
    ++down[parent / per_node];
    ++in[rank / per_node];
  }
  int most = 0;
  for (const auto& [node, count] : down) most = std::max(most, count);
  for (const auto& [node, count] : in) most = std::max(most, count);
  return most;
}

TEST(TreeCrossings, AreThoseOfTheBusiestNode) {
  for (int per_node = 1; per_node <= 9; ++per_node)
    for (int ranks = 1; ranks < 150; ++ranks)
      EXPECT_EQ(tree_crossings(ranks, per_node), counted(ranks, per_node))
          << ranks << " in nodes of " << per_node;
}

// By hand from the worked example of node_tree.h: 0 -> 2 -> {1, 3} and 3 -> 1 -> {2, 0}.
TEST(TreeCrossings, OfTwoTrees) {
  EXPECT_EQ(double_tree_crossings(4, 4), 0);
  EXPECT_EQ(double_tree_crossings(4, 1), 2);
  EXPECT_EQ(double_tree_crossings(4, 2), 2);
  EXPECT_EQ(double_tree_crossings(128, 8), 3);
  EXPECT_EQ(double_tree_crossings(1 << 20, 8), 3);
}

}  // namespace
}  // namespace comm_probe::model
