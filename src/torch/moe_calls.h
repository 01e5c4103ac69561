// The token kernels of a MoE layer in traces: how often and how long each ran, and what its own
// name says of the layer. Templates are compiled for a model and a job, so their arguments are
// facts (order of the arguments: DeepEP csrc/kernels, seen in public profiles):
//
//   deep_ep::internode_ll::dispatch<true, 3, 10, 7168>                    fp8, hidden 7168
//   deep_ep::internode_ll::combine<(bool)0, (int)6144, (int)11, (int)4>   hidden 6144
//   deep_ep::internode::dispatch<false, 4, false, 7, 4>                   4 nodes
//   deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>              8 ranks of one node
//
// A low-latency call with return_recv_hook is two kernels of one name, the sending and the
// receiving half, between which the bytes travel: their times say nothing of bandwidth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "torch/across.h"

namespace comm_probe::torch {

struct MoeKernelFacts {
  std::optional<int> hidden = {};
  std::optional<bool> is_fp8 = {};  // what is dispatched
  std::optional<int> nodes = {};
  std::optional<int> ranks_per_node = {};
};
// Of the full name, template arguments included.
MoeKernelFacts moe_kernel_facts(std::string_view name, const CommKernel& kernel);

// All calls of one kernel. Times are those of a whole operation: of both halves together.
struct MoeUse {
  CommKernel kernel = {};
  std::string name = {};  // base name
  MoeKernelFacts facts = {};
  std::size_t count = 0;
  bool in_halves = false;
  std::int64_t least = 0;  // ns
  std::int64_t median = 0;
  std::int64_t p95 = 0;
  std::int64_t most = 0;
  std::int64_t total = 0;
  // By median: a kernel waits until all peers have sent, so whoever comes last has the shortest.
  int shortest_rank = -1;
  std::int64_t shortest_median = 0;
  int longest_rank = -1;
  std::int64_t longest_median = 0;

  // Moves tokens; counts and clean-up do not.
  bool moves_tokens() const;
};

// Kernels of dispatch and combine, the longest total first; empty without any.
std::vector<MoeUse> moe_uses_of(const AcrossRanks& across);

}  // namespace comm_probe::torch
