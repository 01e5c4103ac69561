#include "nccl/node_tree.h"

#include <gtest/gtest.h>

namespace comm_probe::nccl {
namespace {

void expect_tree(const NodeTree& tree, int up, int left, int right) {
  EXPECT_EQ(tree.up, up);
  EXPECT_EQ(tree.down[0], left);
  EXPECT_EQ(tree.down[1], right);
}

// The examples of NCCL's own comments and of spec part 4.4.
TEST(NodeTree, TwoNodes) {
  expect_tree(node_tree(2, 0, TreeHalf::kFirst), -1, -1, 1);
  expect_tree(node_tree(2, 1, TreeHalf::kFirst), 0, -1, -1);
  EXPECT_EQ(node_tree(2, 1, TreeHalf::kFirst).place_at_parent, 1);
  expect_tree(node_tree(2, 1, TreeHalf::kSecond), -1, -1, 0);
}

TEST(NodeTree, FourNodes) {
  expect_tree(node_tree(4, 0, TreeHalf::kFirst), -1, -1, 2);
  expect_tree(node_tree(4, 2, TreeHalf::kFirst), 0, 1, 3);
  expect_tree(node_tree(4, 1, TreeHalf::kFirst), 2, -1, -1);
  expect_tree(node_tree(4, 3, TreeHalf::kSecond), -1, -1, 1);
  expect_tree(node_tree(4, 1, TreeHalf::kSecond), 3, 2, 0);
}

TEST(NodeTree, FiveNodesWithAnUnevenEnd) {
  expect_tree(node_tree(5, 0, TreeHalf::kFirst), -1, -1, 4);
  expect_tree(node_tree(5, 4, TreeHalf::kFirst), 0, 2, -1);
  EXPECT_EQ(node_tree(5, 2, TreeHalf::kFirst).up, 4);
}

TEST(NodeTree, OneNodeIsAlone) {
  expect_tree(node_tree(1, 0, TreeHalf::kFirst), -1, -1, -1);
  expect_tree(node_tree(1, 0, TreeHalf::kSecond), -1, -1, -1);
}

}  // namespace
}  // namespace comm_probe::nccl
