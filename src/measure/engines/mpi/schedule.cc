#include "measure/engines/mpi/schedule.h"

#include "measure/engine_algorithms.h"
#include "measure/engines/mpi/schedule_builder.h"

namespace comm_probe::measure::mpi {
namespace {

using model::Algorithm;
using model::Op;

constexpr model::AlgorithmEntry<Builder> kEntries[] = {
    {Op::kAllReduce, Algorithm::kRing, ring_all_reduce},
    {Op::kAllReduce, Algorithm::kTree, tree_all_reduce},
    {Op::kAllReduce, Algorithm::kDoubleTree, double_tree_all_reduce},
    {Op::kAllReduce, Algorithm::kRecursiveDoubling, recursive_doubling_all_reduce},
    {Op::kAllReduce, Algorithm::kOneShot, one_shot_all_reduce},
    {Op::kAllReduce, Algorithm::kTwoShot, two_shot_all_reduce},
    {Op::kAllGather, Algorithm::kRing, ring_all_gather},
    {Op::kAllGather, Algorithm::kOneShot, one_shot_all_gather},
    {Op::kReduceScatter, Algorithm::kRing, ring_reduce_scatter},
    {Op::kReduceScatter, Algorithm::kOneShot, one_shot_reduce_scatter},
    {Op::kBroadcast, Algorithm::kRing, chain_broadcast},
    {Op::kBroadcast, Algorithm::kTree, tree_broadcast},
    {Op::kBroadcast, Algorithm::kOneShot, one_shot_broadcast},
    {Op::kReduce, Algorithm::kRing, chain_reduce},
    {Op::kReduce, Algorithm::kTree, tree_reduce},
    {Op::kReduce, Algorithm::kOneShot, one_shot_reduce},
    {Op::kAllToAll, Algorithm::kDirect, direct_all_to_all},
    {Op::kSendRecv, Algorithm::kDirect, direct_send_recv},
};
constexpr EngineAlgorithms<Builder> kTable = {
    {kEntries}, "mpi", "; without --algo the library chooses"};

}  // namespace

Builder find_builder(Op op, Algorithm algorithm) { return kTable.find(op, algorithm); }
std::vector<Algorithm> algorithms_for(Op op) { return kTable.of(op); }
core::Result<Builder> require_builder(Op op, Algorithm algorithm) {
  return kTable.require(op, algorithm);
}

Case case_of(const Plan& plan, int rank, std::size_t count) {
  return {.op = plan.op,
          .rank = rank,
          .ranks = plan.ranks,
          .root = plan.root,
          .count = count,
          .chunk = kChunkBytes / element_bytes(plan.element)};
}

Slot& ScheduleBuilder::at(std::size_t slot) {
  if (schedule_.slots.size() <= slot) schedule_.slots.resize(slot + 1);
  return schedule_.slots[slot];
}
void ScheduleBuilder::send(std::size_t slot, const Transfer& transfer) {
  if (transfer.count > 0) at(slot).sends.push_back(transfer);
}
void ScheduleBuilder::receive(std::size_t slot, const Transfer& transfer) {
  if (transfer.count > 0) at(slot).receives.push_back(transfer);
}
void ScheduleBuilder::work(std::size_t slot, const Work& work) {
  if (work.count > 0) at(slot).work.push_back(work);
}
Spot ScheduleBuilder::keep(std::size_t elements) {
  const Spot first = scratch(schedule_.scratch);
  schedule_.scratch += elements;
  return first;
}

void reduce_in_rank_order(ScheduleBuilder& builder, std::size_t slot,
                          const std::vector<Spot>& operands, const Work& to) {
  const std::size_t last = operands.size() - 1;
  const Spot kept = operands[0].place == Place::kScratch ? operands[0] : operands[1];
  Spot so_far = operands[0];
  for (std::size_t i = 1; i <= last; ++i) {
    Work step = to;
    step.a = so_far;
    step.b = operands[i];
    step.is_last = i == last;
    if (i < last) step.to = kept;
    builder.work(slot, step);
    so_far = kept;
  }
}

}  // namespace comm_probe::measure::mpi
