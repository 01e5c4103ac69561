// Tuning: what NCCL reckons every combination of function, algorithm and protocol to cost on a
// job: a latency and an algorithm bandwidth, and which combinations it does not take. NCCL 2.28.9
// src/graph/tuning.cc (ncclTopoTuneModel); from it the choice of each call follows (choice.h).
//
//   time = latency + bytes / bandwidth, bandwidth 0 = not taken
//   DGX H100, two nodes, AllReduce: Ring LL 40 us and 20.8 GB/s, Tree Simple 92.4 us and
//   140.76 GB/s, NVLSTree 66.8 us and 246.2 GB/s (tests/oracle: every cell of 479 tables)
#pragma once

#include <array>

#include "nccl/job_plan.h"
#include "nccl/tuning_constants.h"
#include "nccl/tuning_settings.h"

namespace comm_probe::nccl {

// Why a combination is not taken.
enum class Refusal {
  kNone,
  kNotOffered,     // the function has no such form
  kNoBandwidth,    // the search found no channels for it
  kAlgorithmList,  // NCCL_ALGO
  kProtocolList,   // NCCL_PROTO
  kOneNode,        // NVLSTree needs several nodes
  kNoCollnet,      // collective offload by the network is off
  kNoNvswitch,     // CollNetDirect needs one
  kTooFewHeads,    // more ranks on a node than heads
  kLl128Path,      // LL128 "automatic": a path is too far
  kLl128Chip,      // LL128 "automatic": the GPUs are too old or differ
  kPatSetting,     // several ranks per node, or NCCL_PAT_ENABLE
};
// "NCCL_ALGO excludes it"
const char* refusal_text(Refusal refusal);

struct MethodCost {
  NcclTime latency = {};
  topology::NcclRate bandwidth =
      {};  // of the algorithm: bytes of the call over time; 0 = not taken
  Refusal refusal = Refusal::kNotOffered;
};

struct TuningJob {
  Agreement agreement = {};
  ChannelCounts channels = {};
  TuningSettings settings = {};
  bool net_offload = false;  // the NIC moves data without a host process
  int cuda_runtime = 13000;  // 11080 is 11.8
};

struct Tuning {
  TuningJob job = {};
  PerMethod<int> max_threads = {};
  PerMethod<std::int64_t> thread_thresholds = {};  // bytes per thread
  std::uint64_t channel_traffic = 16384;           // least of a channel, bytes
  std::array<PerMethod<MethodCost>, kFunctions> costs = {};

  const MethodCost& cost(Function function, Algorithm algorithm, Protocol protocol) const {
    return costs[index_of(function)][index_of(algorithm)][index_of(protocol)];
  }
};

Tuning tune(const TuningJob& job);
// Of a planned job, on a network of host processes.
Tuning tune(const JobPlan& plan, const TuningSettings& settings);

// The graph that an algorithm runs on.
const GraphTraits& graph_of(const Agreement& agreement, Algorithm algorithm);

}  // namespace comm_probe::nccl
