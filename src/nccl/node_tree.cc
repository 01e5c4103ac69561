#include "nccl/node_tree.h"

#include "model/node_tree.h"

namespace comm_probe::nccl {

NodeTree node_tree(int nodes, int node, TreeHalf half) {
  const model::NodeTree tree = model::node_tree(
      nodes, node, half == TreeHalf::kFirst ? model::TreeHalf::kFirst : model::TreeHalf::kSecond);
  return {tree.up, tree.down, tree.place_at_parent};
}

}  // namespace comm_probe::nccl
