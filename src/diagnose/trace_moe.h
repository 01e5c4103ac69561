// Dispatch and combine in traces beside the ledger of `calc moe`. A trace has their times, and in
// the names of some kernels the hidden size, the format and the nodes; tokens and top-k are given
// (--moe). Only kernels whose way of sending is public are priced:
//   low-latency   one message per token and expert (DeepEP, NCCL EP): model/moe/issue.h, with its
//                 fixed cost, which was seen on 2 to 8 nodes and is within 15 % on one
//   internode     one copy per node, passed on over NVLink (DeepEP normal): MoeScheme::kDedup,
//   kGroup intranode     the same in one node
// A kernel waits until all peers have sent, so its median is an upper bound of the transfer; who
// comes last has the shortest. Only when even the shortest call is too long, links or kernel are.
//
// Worked example (tests/golden/trace/moe_test.cc): 128 tokens, top-8, hidden 7168, 8 nodes
// of 8, 50 GB/s: dispatch of 173 us: 7.59 MB, 43.8 GB/s logical, 38.4 GB/s on the wire; the ledger
// says 132.75 us of bytes and 45 us fixed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "model/moe/layer.h"
#include "torch/moe_calls.h"

namespace comm_probe::diagnose {

// What the command line says; it goes before what the trace says.
struct MoeGiven {
  std::optional<int> hidden = {};
  std::optional<int> topk = {};
  std::optional<int> experts = {};
  std::optional<std::int64_t> tokens = {};  // per rank
  std::optional<int> nodes = {};
  std::optional<int> ranks_per_node = {};
  std::optional<core::Sourced<int>> machine_ranks = {};  // GPUs of the machine that was named
  int group_limit = 0;
  std::optional<model::MoeFormat> dispatch = {};
  std::optional<model::MoeFormat> combine = {};
  core::Sourced<core::Bandwidth> nic = {};  // 0: not known
  core::Sourced<core::Bandwidth> nvlink = {};
};

// The source of a fact that nobody said.
inline constexpr const char* kUsual = "usual";

// One fact of the layer, and who says it.
struct MoeFact {
  std::string name = {};   // "hidden"
  std::string value = {};  // "7168"
  core::Basis basis = core::Basis::kAssumed;
  std::string source = {};
};

struct MoeCompared {
  torch::MoeUse use = {};
  std::optional<core::Bytes> bytes = {};  // logical: what stays on the node is counted
  std::optional<core::Bytes> wire = {};   // on the NIC
  std::optional<core::Duration> predicted = {};
  core::Duration fixed = {};  // in it
  bool is_part = false;       // shorter than its bytes can take: not the whole operation
  std::string unpriced = {};  // why there is no ledger; empty where there is one

  // At the median, waiting included.
  std::optional<core::Bandwidth> logical_rate() const;
  std::optional<core::Bandwidth> wire_rate() const;
};

struct TraceMoe {
  std::vector<MoeFact> facts = {};
  MoeFact group = {};                     // whose ranks exchange tokens; no name: not known
  std::string place = {};                 // "on 8 nodes, 1 each (computed: ...)"; empty: not known
  std::vector<std::string> missing = {};  // what --moe would have to say
  std::string refused = {};               // why this can be no layer; empty: it can
  std::vector<MoeCompared> rows = {};     // empty: no such kernels
  Judgement judgement = {};
};
TraceMoe judge_trace_moe(const torch::AcrossRanks& across, const MoeGiven& given);

}  // namespace comm_probe::diagnose
