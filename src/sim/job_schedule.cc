#include "sim/job_schedule.h"

#include <fmt/format.h>

#include "model/algorithm_table.h"
#include "model/network.h"
#include "model/node_tree.h"
#include "model/schedules.h"

namespace comm_probe::sim {
namespace {

using model::Algorithm;
using model::Op;
using Tree = model::TreeSchedule::Shape;

Tree chain(int ranks) {
  Tree tree;
  for (int rank = 0; rank < ranks; ++rank) tree.parent.push_back(rank - 1);
  return tree;
}
Tree heap(int ranks) {
  Tree tree;
  for (int rank = 0; rank < ranks; ++rank) tree.parent.push_back(rank == 0 ? -1 : (rank - 1) / 2);
  return tree;
}

Tree only_up(Tree tree) {
  tree.goes_down = false;
  return tree;
}
Tree only_down(Tree tree) {
  tree.goes_up = false;
  return tree;
}

// NCCL's two trees over the nodes, and inside each node a chain down from its first rank. A node of
// one rank: the double tree over all ranks. Up and down go on at the same time.
Tree half_of(const model::Placement& at, model::TreeHalf half) {
  Tree tree{.overlaps = true};
  for (int rank = 0; rank < at.ranks; ++rank) {
    const int up = model::node_tree(at.nodes, rank / at.ranks_per_node, half).up;
    const bool is_head = rank % at.ranks_per_node == 0;
    tree.parent.push_back(!is_head ? rank - 1 : up < 0 ? -1 : up * at.ranks_per_node);
  }
  return tree;
}

using Shapes = std::vector<Tree>;
using Place = model::Placement;
Shapes chain_down(const Place& at) { return {only_down(chain(at.ranks))}; }
Shapes chain_up(const Place& at) { return {only_up(chain(at.ranks))}; }
Shapes heap_down(const Place& at) { return {only_down(heap(at.ranks))}; }
Shapes heap_up(const Place& at) { return {only_up(heap(at.ranks))}; }
Shapes heap_both(const Place& at) { return {heap(at.ranks)}; }
Shapes nccl_trees(const Place& at) {
  return {half_of(at, model::TreeHalf::kFirst), half_of(at, model::TreeHalf::kSecond)};
}
Shapes two_trees(const Place& at) {
  Place single = at;
  single.nodes = at.ranks;
  single.ranks_per_node = 1;
  return nccl_trees(single);
}

using Trees = Shapes (*)(const Place& at);
constexpr model::AlgorithmEntry<Trees> kEntries[] = {
    {Op::kAllReduce, Algorithm::kTree, heap_both},
    {Op::kAllReduce, Algorithm::kDoubleTree, two_trees},
    {Op::kAllReduce, Algorithm::kNcclTree, nccl_trees},
    {Op::kBroadcast, Algorithm::kRing, chain_down},
    {Op::kBroadcast, Algorithm::kTree, heap_down},
    {Op::kReduce, Algorithm::kRing, chain_up},
    {Op::kReduce, Algorithm::kTree, heap_up},
};
constexpr model::AlgorithmTable<Trees> kTrees = {kEntries};

}  // namespace

core::Result<JobSchedule> schedule_of(const model::Collective& collective, Algorithm algorithm,
                                      const model::Placement& at, core::Bytes chunk) {
  JobSchedule job;
  job.at_once = model::crossing_of(algorithm) == model::Crossing::kAllRails;
  if (const Trees trees = kTrees.find(collective.op, algorithm)) {
    const auto shapes = trees(at);
    job.at_once = true;
    const core::Bytes each = collective.bytes / static_cast<double>(shapes.size());
    for (const Tree& shape : shapes) {
      job.parts.push_back(std::make_unique<model::TreeSchedule>(shape, each, chunk));
      job.messages += std::max(1.0, each / chunk) * (collective.ranks - 1) *
                      (shape.goes_up && shape.goes_down ? 2 : 1);
    }
    return job;
  }
  auto rounds = std::make_unique<model::RoundSchedule>(collective.ranks);
  const auto played = model::play_rounds(collective, algorithm, at, *rounds);
  if (!played) return played.error();
  job.messages = rounds->total_messages();
  job.rounds = rounds.get();
  job.parts.push_back(std::move(rounds));
  return job;
}

}  // namespace comm_probe::sim
