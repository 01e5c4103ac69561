#include "measure/engines/local/algorithms.h"

#include "measure/engine_algorithms.h"

namespace comm_probe::measure::local {
namespace {

using model::Algorithm;
using model::Op;

constexpr model::AlgorithmEntry<AlgorithmFunction> kEntries[] = {
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
    {Op::kBroadcast, Algorithm::kRing, ring_broadcast},
    {Op::kBroadcast, Algorithm::kTree, tree_broadcast},
    {Op::kBroadcast, Algorithm::kOneShot, one_shot_broadcast},
    {Op::kReduce, Algorithm::kRing, ring_reduce},
    {Op::kReduce, Algorithm::kTree, tree_reduce},
    {Op::kReduce, Algorithm::kOneShot, one_shot_reduce},
    {Op::kAllToAll, Algorithm::kDirect, direct_all_to_all},
    {Op::kSendRecv, Algorithm::kDirect, direct_send_recv},
};
constexpr EngineAlgorithms<AlgorithmFunction> kTable = {{kEntries}, "local", ""};

}  // namespace

AlgorithmFunction find_algorithm(Op op, Algorithm algorithm) { return kTable.find(op, algorithm); }

std::vector<Algorithm> algorithms_for(Op op) { return kTable.of(op); }

core::Result<AlgorithmFunction> require_algorithm(Op op, Algorithm algorithm) {
  return kTable.require(op, algorithm);
}

}  // namespace comm_probe::measure::local
