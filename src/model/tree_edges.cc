#include "model/tree_edges.h"

#include <algorithm>
#include <vector>

#include "model/node_tree.h"

namespace comm_probe::model {
namespace {

// Where edges end: one of two directions, or both.
class Ends {
 public:
  Ends(int ranks, int per_node)
      : per_node_(per_node),
        inside_(static_cast<std::size_t>(ranks)),
        of_rank_(inside_.size()),
        of_node_(static_cast<std::size_t>((ranks + per_node - 1) / per_node)) {}

  void add(int rank, int to) {
    const auto at = static_cast<std::size_t>(rank);
    if (rank / per_node_ == to / per_node_) {
      ++inside_[at];
      return;
    }
    ++of_rank_[at];
    ++of_node_[static_cast<std::size_t>(rank / per_node_)];
  }
  TreeEdges most() const {
    const auto most = [](const std::vector<int>& all) {
      return *std::max_element(all.begin(), all.end());
    };
    return {most(inside_), most(of_rank_), most(of_node_)};
  }

 private:
  int per_node_ = 1;
  std::vector<int> inside_, of_rank_, of_node_;
};

// The trees repeat themselves; how they lie to the nodes depends on the ranks modulo both.
int ranks_that_show_all(int ranks, int per_node) {
  constexpr int kNodes = 512, kPeriod = 64;
  if (ranks <= kNodes * per_node) return ranks;
  return (kNodes - kPeriod) * per_node + ranks % (kPeriod * per_node);
}

TreeEdges larger(const TreeEdges& a, const TreeEdges& b) {
  return {std::max(a.inside, b.inside), std::max(a.of_rank, b.of_rank),
          std::max(a.of_node, b.of_node)};
}

}  // namespace

// The ranks of node k > 0 have all their children, 2kp+1 to 2kp+2p, outside; those of node 0 have
// p to 2p outside, and the first with both of them there is p/2. What enters a node from above is
// one edge for each rank at most.
TreeEdges tree_edges(int ranks, int ranks_per_node) {
  const int p = ranks_per_node;
  const int inside = std::min(2, std::min(ranks, p) - 1);
  if (ranks <= p) return {inside, 0, 0};
  const int of_first = std::min(ranks - p, p + 1);
  const int of_others = std::clamp(ranks - 1 - 2 * p, 0, 2 * p);
  return {inside, 2 * (p / 2) + 2 < ranks ? 2 : 1, std::max(of_first, of_others)};
}

TreeEdges double_tree_edges(int ranks, int ranks_per_node, TreeWaves waves) {
  ranks = ranks_that_show_all(ranks, ranks_per_node);
  Ends down(ranks, ranks_per_node), up = down;
  Ends& other = waves == TreeWaves::kBoth ? down : up;
  for (const TreeHalf half : {TreeHalf::kFirst, TreeHalf::kSecond})
    for (int rank = 0; rank < ranks; ++rank) {
      const int parent = node_tree(ranks, rank, half).up;
      if (parent < 0) continue;
      down.add(parent, rank);
      other.add(rank, parent);
    }
  if (waves == TreeWaves::kBoth) return down.most();
  const bool has_nodes = ranks > ranks_per_node;
  return larger(larger(down.most(), up.most()),
                has_nodes ? TreeEdges{0, 2, 2} : TreeEdges{2, 0, 0});
}

core::Bandwidth crossing_rate(const Placement& at, const TreeEdges& edges) {
  if (at.has_own_nics) return at.inter.beta;
  return at.inter.beta * at.ranks_per_node * edges.of_rank / edges.of_node;
}

}  // namespace comm_probe::model
