#include "model/tree_crossings.h"

#include <algorithm>
#include <vector>

#include "model/node_tree.h"

namespace comm_probe::model {

// The ranks of node k > 0 have all their children, 2kp+1 to 2kp+2p, outside; those of node 0 have
// p to 2p outside. What enters a node from above is one edge for each rank at most.
int tree_crossings(int ranks, int ranks_per_node) {
  const int p = ranks_per_node;
  if (ranks <= p) return 0;
  const int of_first = std::min(ranks - p, p + 1);
  const int of_others = std::clamp(ranks - 1 - 2 * p, 0, 2 * p);
  return std::max(of_first, of_others);
}

// The trees repeat themselves: so many nodes show all of them, with the parity of all, which says
// how the second tree lies to the first.
int double_tree_crossings(int ranks, int ranks_per_node) {
  constexpr int kNodes = 512;
  const int p = ranks_per_node;
  if (ranks <= p) return 0;
  if (ranks > (kNodes + 1) * p) ranks = kNodes * p + ranks % 2;
  std::vector<int> down(static_cast<std::size_t>((ranks + p - 1) / p)), in = down;
  for (const TreeHalf half : {TreeHalf::kFirst, TreeHalf::kSecond})
    for (int rank = 0; rank < ranks; ++rank) {
      const int up = node_tree(ranks, rank, half).up;
      if (up < 0 || up / p == rank / p) continue;
      ++down[static_cast<std::size_t>(up / p)];
      ++in[static_cast<std::size_t>(rank / p)];
    }
  return std::max(
      {2, *std::max_element(down.begin(), down.end()), *std::max_element(in.begin(), in.end())});
}

}  // namespace comm_probe::model
