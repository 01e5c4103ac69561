#include "model/node_tree.h"

#include <bit>

namespace comm_probe::model {
namespace {

// The lowest set bit; of node 0 the smallest power of two that is at least the number of nodes.
int lowest_bit(int nodes, int node) {
  if (node != 0) return node & -node;
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(nodes)));
}

// node + low, or with the next smaller halves of low, until it is within the tree.
int upper_child(int nodes, int node, int low) {
  while (low > 0 && node + low >= nodes) low /= 2;
  return low == 0 ? -1 : node + low;
}

NodeTree binary_tree(int nodes, int node) {
  const int bit = lowest_bit(nodes, node);
  NodeTree tree;
  if (node == 0) {
    if (nodes > 1) tree.down[1] = bit / 2;
    return tree;
  }
  tree.up = (node ^ bit) | (2 * bit);
  if (tree.up >= nodes) tree.up = node ^ bit;
  tree.place_at_parent = node < tree.up ? 0 : 1;
  const int low = bit / 2;
  if (low > 0) tree.down[0] = node - low;
  tree.down[1] = upper_child(nodes, node, low);
  return tree;
}

}  // namespace

NodeTree node_tree(int nodes, int node, TreeHalf half) {
  if (half == TreeHalf::kFirst) return binary_tree(nodes, node);
  const bool is_odd = nodes % 2 == 1;
  NodeTree tree = binary_tree(nodes, is_odd ? (node - 1 + nodes) % nodes : nodes - 1 - node);
  const auto back = [&](int mapped) {
    if (mapped < 0) return -1;
    return is_odd ? (mapped + 1) % nodes : nodes - 1 - mapped;
  };
  tree.up = back(tree.up);
  for (int& child : tree.down) child = back(child);
  return tree;
}

}  // namespace comm_probe::model
