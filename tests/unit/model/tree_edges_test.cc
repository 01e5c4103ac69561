// Edges that meet in one place, counted one by one from the parents.
#include "model/tree_edges.h"

#include <gtest/gtest.h>

#include <map>

#include "model/node_tree.h"

namespace comm_probe::model {
namespace {

struct Count {
  std::map<int, int> inside, of_rank, of_node;
  void add(int rank, int to, int per_node) {
    if (rank / per_node == to / per_node) {
      ++inside[rank];
    } else {
      ++of_rank[rank];
      ++of_node[rank / per_node];
    }
  }
  static int most(const std::map<int, int>& counts) {
    int most = 0;
    for (const auto& [place, count] : counts) most = std::max(most, count);
    return most;
  }
};

TEST(TreeEdges, AreThoseOfTheBusiestPlace) {
  for (int per_node = 1; per_node <= 9; ++per_node)
    for (int ranks = 1; ranks < 150; ++ranks) {
      Count down, in;
      for (int rank = 1; rank < ranks; ++rank) {
        down.add((rank - 1) / 2, rank, per_node);
        in.add(rank, (rank - 1) / 2, per_node);
      }
      const TreeEdges edges = tree_edges(ranks, std::min(ranks, per_node));
      EXPECT_EQ(edges.inside, Count::most(down.inside)) << ranks << " in nodes of " << per_node;
      EXPECT_EQ(edges.of_rank, Count::most(down.of_rank)) << ranks << " in nodes of " << per_node;
      EXPECT_EQ(edges.of_node, std::max(Count::most(down.of_node), Count::most(in.of_node)))
          << ranks << " in nodes of " << per_node;
    }
}

void expect_edges(const TreeEdges& edges, const TreeEdges& expected, const char* what) {
  EXPECT_EQ(edges.inside, expected.inside) << what;
  EXPECT_EQ(edges.of_rank, expected.of_rank) << what;
  EXPECT_EQ(edges.of_node, expected.of_node) << what;
}

// By hand from the worked example of node_tree.h: 0 -> 2 -> {1, 3} and 3 -> 1 -> {2, 0}.
TEST(TreeEdges, OfTwoTrees) {
  expect_edges(double_tree_edges(4, 4, TreeWaves::kBoth), {4, 0, 0}, "1 and 2 have 4 neighbours");
  expect_edges(double_tree_edges(4, 1, TreeWaves::kBoth), {0, 4, 4}, "each a node");
  expect_edges(double_tree_edges(4, 2, TreeWaves::kBoth), {1, 3, 4}, "0 1 | 2 3");
  expect_edges(double_tree_edges(4, 2, TreeWaves::kOne), {1, 2, 2}, "0 1 | 2 3");
  expect_edges(double_tree_edges(2, 2, TreeWaves::kBoth), {2, 0, 0}, "a pair");
}

// Many nodes are counted on fewer ranks, and the result is that of all of them.
TEST(TreeEdges, OfManyNodesAreThoseOfAll) {
  const std::pair<int, int> cases[] = {{2394, 2}, {1382, 2}, {5812, 4},  {7364, 5},
                                       {6150, 6}, {8200, 8}, {9526, 12}, {1000, 1}};
  for (const auto& [ranks, per_node] : cases) {
    Count all;
    for (const TreeHalf half : {TreeHalf::kFirst, TreeHalf::kSecond})
      for (int rank = 0; rank < ranks; ++rank) {
        const int up = node_tree(ranks, rank, half).up;
        if (up < 0) continue;
        all.add(rank, up, per_node);
        all.add(up, rank, per_node);
      }
    const std::string what = std::to_string(ranks) + " in nodes of " + std::to_string(per_node);
    expect_edges(double_tree_edges(ranks, per_node, TreeWaves::kBoth),
                 {Count::most(all.inside), Count::most(all.of_rank), Count::most(all.of_node)},
                 what.c_str());
  }
}

}  // namespace
}  // namespace comm_probe::model
