#include "measure/engines/local/algorithms.h"

#include <fmt/format.h>

#include <array>

namespace comm_probe::measure::local {
namespace {

using model::Algorithm;
using model::Op;

constexpr std::array kTable = {
    AlgorithmEntry{Op::kAllReduce, Algorithm::kRing, ring_all_reduce},
    AlgorithmEntry{Op::kAllReduce, Algorithm::kTree, tree_all_reduce},
    AlgorithmEntry{Op::kAllReduce, Algorithm::kDoubleTree, double_tree_all_reduce},
    AlgorithmEntry{Op::kAllReduce, Algorithm::kRecursiveDoubling, recursive_doubling_all_reduce},
    AlgorithmEntry{Op::kAllReduce, Algorithm::kOneShot, one_shot_all_reduce},
    AlgorithmEntry{Op::kAllReduce, Algorithm::kTwoShot, two_shot_all_reduce},
    AlgorithmEntry{Op::kAllGather, Algorithm::kRing, ring_all_gather},
    AlgorithmEntry{Op::kAllGather, Algorithm::kOneShot, one_shot_all_gather},
    AlgorithmEntry{Op::kReduceScatter, Algorithm::kRing, ring_reduce_scatter},
    AlgorithmEntry{Op::kReduceScatter, Algorithm::kOneShot, one_shot_reduce_scatter},
    AlgorithmEntry{Op::kBroadcast, Algorithm::kRing, ring_broadcast},
    AlgorithmEntry{Op::kBroadcast, Algorithm::kTree, tree_broadcast},
    AlgorithmEntry{Op::kBroadcast, Algorithm::kOneShot, one_shot_broadcast},
    AlgorithmEntry{Op::kReduce, Algorithm::kRing, ring_reduce},
    AlgorithmEntry{Op::kReduce, Algorithm::kTree, tree_reduce},
    AlgorithmEntry{Op::kReduce, Algorithm::kOneShot, one_shot_reduce},
    AlgorithmEntry{Op::kAllToAll, Algorithm::kDirect, direct_all_to_all},
    AlgorithmEntry{Op::kSendRecv, Algorithm::kDirect, direct_send_recv},
};

}  // namespace

AlgorithmFunction find_algorithm(Op op, Algorithm algorithm) {
  for (const AlgorithmEntry& entry : kTable)
    if (entry.op == op && entry.algorithm == algorithm) return entry.function;
  return nullptr;
}

std::vector<Algorithm> algorithms_for(Op op) {
  std::vector<Algorithm> found;
  for (const AlgorithmEntry& entry : kTable)
    if (entry.op == op) found.push_back(entry.algorithm);
  return found;
}

core::Result<AlgorithmFunction> require_algorithm(Op op, Algorithm algorithm) {
  if (const AlgorithmFunction function = find_algorithm(op, algorithm)) return function;
  std::string known;
  for (const Algorithm other : algorithms_for(op))
    known += (known.empty() ? "" : ", ") + std::string(algorithm_name(other));
  return core::input_error(
      fmt::format("the local engine has no {} {}", algorithm_name(algorithm), op_name(op)),
      "it has: " + known);
}

}  // namespace comm_probe::measure::local
