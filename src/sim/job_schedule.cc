#include "sim/job_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

void add_tree(Tree shape, core::Bytes bytes, core::Bytes chunk, JobSchedule& job) {
  const double waves = shape.goes_up && shape.goes_down ? 2 : 1;
  job.messages +=
      std::max(1.0, bytes / chunk) * (static_cast<double>(shape.parent.size()) - 1) * waves;
  job.parts.push_back(std::make_unique<model::TreeSchedule>(std::move(shape), bytes, chunk));
}

template <class Orders>
double channels_of(const Orders& orders) {
  return std::accumulate(orders.begin(), orders.end(), 0.0,
                         [](double sum, const auto& one) { return sum + one.channels; });
}

core::Result<JobSchedule> planned_trees(const model::Collective& of, const PlannedChannels& plan,
                                        core::Bytes chunk) {
  JobSchedule job;
  for (const PlannedTree& tree : plan.trees)
    add_tree({.parent = tree.parent, .overlaps = true},
             of.bytes * (tree.channels / channels_of(plan.trees)), chunk, job);
  return job;
}

// A broadcast goes along the ring from rank 0, a reduce along it to rank 0.
core::Result<bool> add_ring(const model::Collective& part, std::vector<int> order,
                            core::Bytes chunk, JobSchedule& job) {
  if (part.op == Op::kReduce) std::reverse(order.begin() + 1, order.end());
  job.orders.push_back(std::move(order));
  if (const Trees chain = kTrees.find(part.op, Algorithm::kRing)) {
    add_tree(chain({.ranks = part.ranks}).front(), part.bytes, chunk, job);
    return true;
  }
  auto rounds = std::make_unique<model::RoundSchedule>(part.ranks);
  const auto played = model::play_rounds(part, Algorithm::kRing, {.ranks = part.ranks}, *rounds);
  if (!played) return played.error();
  job.messages += rounds->total_messages();
  job.parts.push_back(std::move(rounds));
  return true;
}

core::Result<JobSchedule> planned_rings(const model::Collective& of, const PlannedChannels& plan,
                                        core::Bytes chunk) {
  JobSchedule job;
  for (const PlannedRing& ring : plan.rings) {
    model::Collective part = of;
    part.bytes = of.bytes * (ring.channels / channels_of(plan.rings));
    if (auto added = add_ring(part, ring.order, chunk, job); !added) return added.error();
  }
  return job;
}

}  // namespace

core::Result<JobSchedule> schedule_of(const model::Collective& collective, Algorithm algorithm,
                                      const PlannedChannels& channels, core::Bytes chunk) {
  if (channels.ranks != collective.ranks)
    return core::input_error(fmt::format("the plan is of {} ranks, and {} ranks are asked for",
                                         channels.ranks, collective.ranks));
  if (algorithm == Algorithm::kRing) return planned_rings(collective, channels, chunk);
  if (algorithm == Algorithm::kNcclTree && collective.op == Op::kAllReduce)
    return planned_trees(collective, channels, chunk);
  return core::input_error(fmt::format("the plan has no channels for {} by {}",
                                       op_name(collective.op), algorithm_name(algorithm)),
                           "what it has: ring, and nccl-tree for all_reduce");
}

core::Result<JobSchedule> schedule_of(const model::Collective& collective, Algorithm algorithm,
                                      const model::Placement& at, core::Bytes chunk) {
  JobSchedule job;
  job.at_once = model::crossing_of(algorithm) == model::Crossing::kAllRails;
  if (const Trees trees = kTrees.find(collective.op, algorithm)) {
    const auto shapes = trees(at);
    job.at_once = true;
    const core::Bytes each = collective.bytes / static_cast<double>(shapes.size());
    for (const Tree& shape : shapes) add_tree(shape, each, chunk, job);
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
