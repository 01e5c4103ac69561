// Binary trees: up to the root reducing, down again copying, both directions in flight at once. The
// double tree runs half of the data over each of two trees that are mirror images, so that a rank
// with children in one is a leaf of the other.
#include <array>

#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure::local {
namespace {

// How many chunks a rank sends up before it waits for the first to come down; below the ring of
// slots, so that nobody waits for a slot whose reader waits for him.
constexpr std::size_t kAhead = 2;
static_assert(kAhead < kFewestSlots);

struct TreeNode {
  int parent = -1;  // -1: the root
  std::array<int, 2> children = {-1, -1};
  bool is_root() const { return parent < 0; }
};

// Heap order counted from the root: the children of v are 2v+1 and 2v+2. At most floor(n/2) nodes
// have children, the first ones; mirrored, the last ones.
TreeNode node_of(int rank, int root, int ranks, bool mirrored) {
  const int turned = (rank - root + ranks) % ranks;
  const int v = mirrored ? ranks - 1 - turned : turned;
  const auto name = [&](int node) { return ((mirrored ? ranks - 1 - node : node) + root) % ranks; };
  TreeNode node;
  if (v > 0) node.parent = name((v - 1) / 2);
  for (int side = 0; side < 2; ++side)
    if (2 * v + 1 + side < ranks)
      node.children[static_cast<std::size_t>(side)] = name(2 * v + 1 + side);
  return node;
}

struct Branch {
  Comm& comm;
  const Call& call;
  TreeNode node;
  Chunks chunks;

  // Reduces what the children send with ours; the root keeps it, others send it up.
  void up(Piece chunk) const {
    const std::size_t bytes = call.bytes(chunk.count);
    const std::byte* so_far = call.sent(chunk.first);
    std::byte* target =
        node.is_root() ? call.received(chunk.first) : comm.to(node.parent).reserve(bytes);
    for (const int child : node.children) {
      if (child < 0) continue;
      reduce(comm, call, {target, nullptr, so_far, comm.from(child).wait(bytes)}, chunk.count);
      comm.from(child).release();
      so_far = target;
    }
    if (so_far != target) comm.loops().copy(target, so_far, bytes);
    if (node.is_root())
      finish(comm, call, target, chunk.count);
    else
      comm.to(node.parent).post();
  }

  // Sends the finished chunk to the children; `source` is where the root has it.
  void down(Piece chunk, const std::byte* source) const {
    const std::size_t bytes = call.bytes(chunk.count);
    const std::byte* data = node.is_root() ? source : comm.from(node.parent).wait(bytes);
    for (const int child : node.children)
      if (child >= 0) post_copy(comm, comm.to(child), data, bytes);
    if (node.is_root()) return;
    comm.loops().copy(call.received(chunk.first), data, bytes);
    comm.from(node.parent).release();
  }
  void up_at(std::size_t at) const {
    if (at < chunks.size()) up(chunks[at]);
  }
  // Some chunks later, the root too: both trees share the streams between two ranks, and every rank
  // must post and take in the same order.
  void down_at(std::size_t step) const {
    if (step < kAhead || step - kAhead >= chunks.size()) return;
    const Piece chunk = chunks[step - kAhead];
    down(chunk, call.received(chunk.first));
  }
};

Branch branch(Comm& comm, const Call& call, int root, bool mirrored, Piece whole) {
  return {comm,
          call,
          node_of(comm.rank(), root, comm.ranks(), mirrored),
          {whole, chunk_elements(comm.chunks().pair, call)}};
}

}  // namespace

void tree_all_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_all_reduce(comm, call);
  const Branch tree = branch(comm, call, 0, false, {0, call.count});
  for (std::size_t step = 0; step < tree.chunks.size() + kAhead; ++step) {
    tree.up_at(step);
    tree.down_at(step);
  }
}

void double_tree_all_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_all_reduce(comm, call);
  const Piece whole = {0, call.count};
  const Branch first = branch(comm, call, 0, false, part_of(whole, 0, 2));
  const Branch second = branch(comm, call, 0, true, part_of(whole, 1, 2));
  const std::size_t steps = first.chunks.size() + kAhead;  // the first part is never the smaller
  for (std::size_t step = 0; step < steps; ++step) {
    first.up_at(step);
    second.up_at(step);
    first.down_at(step);
    second.down_at(step);
  }
}

void tree_broadcast(Comm& comm, const Call& call) {
  const Branch tree = branch(comm, call, call.root, false, {0, call.count});
  for (std::size_t at = 0; at < tree.chunks.size(); ++at)
    tree.down(tree.chunks[at], call.sent(tree.chunks[at].first));
  if (tree.node.is_root() && call.recv != call.send)
    comm.loops().copy(call.recv, call.send, call.bytes(call.count));
}

void tree_reduce(Comm& comm, const Call& call) {
  const Branch tree = branch(comm, call, call.root, false, {0, call.count});
  for (std::size_t at = 0; at < tree.chunks.size(); ++at) tree.up(tree.chunks[at]);
}

}  // namespace comm_probe::measure::local
