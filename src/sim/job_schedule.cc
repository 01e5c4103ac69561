#include "sim/job_schedule.h"

#include <fmt/format.h>

#include "model/algorithm_table.h"
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

std::vector<Tree> chain_down(int ranks) { return {only_down(chain(ranks))}; }
std::vector<Tree> chain_up(int ranks) { return {only_up(chain(ranks))}; }
std::vector<Tree> heap_down(int ranks) { return {only_down(heap(ranks))}; }
std::vector<Tree> heap_up(int ranks) { return {only_up(heap(ranks))}; }
std::vector<Tree> heap_both(int ranks) { return {heap(ranks)}; }

using Trees = std::vector<Tree> (*)(int ranks);
constexpr model::AlgorithmEntry<Trees> kEntries[] = {
    {Op::kAllReduce, Algorithm::kTree, heap_both}, {Op::kBroadcast, Algorithm::kRing, chain_down},
    {Op::kBroadcast, Algorithm::kTree, heap_down}, {Op::kReduce, Algorithm::kRing, chain_up},
    {Op::kReduce, Algorithm::kTree, heap_up},
};
constexpr model::AlgorithmTable<Trees> kTrees = {kEntries};

}  // namespace

core::Result<JobSchedule> schedule_of(const model::Collective& collective, Algorithm algorithm,
                                      const model::Placement& at, core::Bytes chunk) {
  JobSchedule job;
  if (const Trees trees = kTrees.find(collective.op, algorithm)) {
    const auto shapes = trees(collective.ranks);
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
