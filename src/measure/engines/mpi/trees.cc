// Binary trees in heap order counted from the root: the children of v are 2v+1 and 2v+2. With depth
// D, chunk c leaves a rank at level L upwards in slot c + D - L, is finished at the root after slot
// c + D - 1, and leaves level L downwards in slot c + D + L. The double tree runs half of the data
// over each of two trees that are mirror images, so that a rank with children in one is a leaf of
// the other.
#include <bit>

#include "measure/engines/mpi/schedule_builder.h"

namespace comm_probe::measure::mpi {
namespace {

struct TreeNode {
  int parent = -1;
  std::vector<int> children = {};
  std::size_t level = 0;
  std::size_t depth = 0;  // of the tree
  bool is_root() const { return parent < 0; }
};

std::size_t level_of(int v) { return std::bit_width(static_cast<unsigned>(v) + 1) - 1; }

TreeNode node_of(const Case& asked, bool is_mirrored) {
  const int n = asked.ranks, turned = wrapped(asked.rank - asked.root, asked);
  const int v = is_mirrored ? n - 1 - turned : turned;
  const auto name = [&](int node) {
    return wrapped((is_mirrored ? n - 1 - node : node) + asked.root, asked);
  };
  TreeNode node;
  node.level = level_of(v);
  node.depth = level_of(n - 1);
  if (v > 0) node.parent = name((v - 1) / 2);
  for (const int child : {2 * v + 1, 2 * v + 2})
    if (child < n) node.children.push_back(name(child));
  return node;
}

// One tree over one piece of the message.
class Tree {
 public:
  Tree(const Case& asked, bool is_mirrored, Piece whole)
      : node_(node_of(asked, is_mirrored)), chunks_(whole, asked.chunk) {}

  void up(ScheduleBuilder& builder) const {
    std::vector<Spot> buffers;  // by child, two of each: one is sent on while the other fills
    for (std::size_t i = 0; i < 2 * node_.children.size(); ++i)
      buffers.push_back(builder.keep(chunks_.largest()));
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const std::size_t leaves = c + node_.depth - node_.level;
      const Spot sum = reduced(builder, c, leaves, buffers);
      if (!node_.is_root()) builder.send(leaves, {node_.parent, sum, chunks_[c].count});
    }
  }
  // `at_root` is where the root has the finished message.
  void down(ScheduleBuilder& builder, Place at_root, std::size_t first_slot) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const Piece chunk = chunks_[c];
      const Spot at = {node_.is_root() ? at_root : Place::kOutput, chunk.first};
      const std::size_t leaves = first_slot + c + node_.level;
      if (!node_.is_root()) builder.receive(leaves - 1, {node_.parent, at, chunk.count});
      for (const int child : node_.children) builder.send(leaves, {child, at, chunk.count});
    }
  }
  std::size_t depth() const { return node_.depth; }
  bool is_root() const { return node_.is_root(); }

 private:
  // Where the chunk of this rank and all below it is, before slot `leaves`.
  Spot reduced(ScheduleBuilder& builder, std::size_t c, std::size_t leaves,
               const std::vector<Spot>& buffers) const {
    const Piece chunk = chunks_[c];
    Spot so_far = input(chunk.first);
    for (std::size_t i = 0; i < node_.children.size(); ++i) {
      const Spot arrived = buffers[2 * i + c % 2];
      const bool is_last = node_.is_root() && i + 1 == node_.children.size();
      const Spot to = is_last ? output(chunk.first) : buffers[c % 2];
      builder.receive(leaves - 1, {node_.children[i], arrived, chunk.count});
      builder.work(leaves - 1, {to, so_far, arrived, chunk.count, is_last});
      so_far = to;
    }
    return so_far;
  }

  TreeNode node_;
  Chunks chunks_;
};

void up_and_down(ScheduleBuilder& builder, const Tree& tree) {
  tree.up(builder);
  tree.down(builder, Place::kOutput, tree.depth());
}

}  // namespace

Schedule tree_all_reduce(const Case& asked) {
  ScheduleBuilder builder;
  up_and_down(builder, Tree(asked, false, {0, asked.count}));
  return builder.take();
}

Schedule double_tree_all_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const Piece whole = {0, asked.count};
  up_and_down(builder, Tree(asked, false, part_of(whole, 0, 2)));
  up_and_down(builder, Tree(asked, true, part_of(whole, 1, 2)));
  return builder.take();
}

Schedule tree_broadcast(const Case& asked) {
  ScheduleBuilder builder;
  const Tree tree(asked, false, {0, asked.count});
  if (tree.is_root()) builder.copy(0, output(0), input(0), asked.count);
  tree.down(builder, Place::kInput, 0);
  return builder.take();
}

Schedule tree_reduce(const Case& asked) {
  ScheduleBuilder builder;
  Tree(asked, false, {0, asked.count}).up(builder);
  return builder.take();
}

}  // namespace comm_probe::measure::mpi
