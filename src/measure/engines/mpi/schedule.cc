#include "measure/engines/mpi/schedule.h"

#include <fmt/format.h>

#include <array>

#include "measure/engines/mpi/schedule_builder.h"

namespace comm_probe::measure::mpi {
namespace {

using model::Algorithm;
using model::Op;

struct Entry {
  Op op;
  Algorithm algorithm;
  Builder build;
};
constexpr std::array kTable = {
    Entry{Op::kAllReduce, Algorithm::kRing, ring_all_reduce},
    Entry{Op::kAllReduce, Algorithm::kTree, tree_all_reduce},
    Entry{Op::kAllReduce, Algorithm::kDoubleTree, double_tree_all_reduce},
    Entry{Op::kAllReduce, Algorithm::kRecursiveDoubling, recursive_doubling_all_reduce},
    Entry{Op::kAllReduce, Algorithm::kOneShot, one_shot_all_reduce},
    Entry{Op::kAllReduce, Algorithm::kTwoShot, two_shot_all_reduce},
    Entry{Op::kAllGather, Algorithm::kRing, ring_all_gather},
    Entry{Op::kAllGather, Algorithm::kOneShot, one_shot_all_gather},
    Entry{Op::kReduceScatter, Algorithm::kRing, ring_reduce_scatter},
    Entry{Op::kReduceScatter, Algorithm::kOneShot, one_shot_reduce_scatter},
    Entry{Op::kBroadcast, Algorithm::kRing, chain_broadcast},
    Entry{Op::kBroadcast, Algorithm::kTree, tree_broadcast},
    Entry{Op::kBroadcast, Algorithm::kOneShot, one_shot_broadcast},
    Entry{Op::kReduce, Algorithm::kRing, chain_reduce},
    Entry{Op::kReduce, Algorithm::kTree, tree_reduce},
    Entry{Op::kReduce, Algorithm::kOneShot, one_shot_reduce},
    Entry{Op::kAllToAll, Algorithm::kDirect, direct_all_to_all},
    Entry{Op::kSendRecv, Algorithm::kDirect, direct_send_recv},
};

}  // namespace

Builder find_builder(Op op, Algorithm algorithm) {
  for (const Entry& entry : kTable)
    if (entry.op == op && entry.algorithm == algorithm) return entry.build;
  return nullptr;
}

std::vector<Algorithm> algorithms_for(Op op) {
  std::vector<Algorithm> found;
  for (const Entry& entry : kTable)
    if (entry.op == op) found.push_back(entry.algorithm);
  return found;
}

core::Result<Builder> require_builder(Op op, Algorithm algorithm) {
  if (const Builder build = find_builder(op, algorithm)) return build;
  std::string known;
  for (const Algorithm other : algorithms_for(op))
    known += (known.empty() ? "" : ", ") + std::string(algorithm_name(other));
  return core::input_error(
      fmt::format("the mpi engine has no {} {}", algorithm_name(algorithm), op_name(op)),
      "it has: " + known + "; without --algo the library chooses");
}

Piece part_of(Piece whole, int index, int parts) {
  const auto n = static_cast<std::size_t>(parts);
  const auto i = static_cast<std::size_t>(index);
  const std::size_t share = whole.count / n, rest = whole.count % n;
  return {whole.first + share * i + std::min(i, rest), share + (i < rest ? 1 : 0)};
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
