// The time of one all_reduce inside a node by the kernels that inference engines use beside NCCL,
// and what choosing between them is worth per decode step.
//
//   T = start(n) + bytes read by a rank / rate
//   one-shot     (n-1) S at 87 % of NVLink; start 6.5 us in a CUDA graph, 10 us outside
//   two-shot     2 (n-1)/n S at 47 % of it, at most 257 GB/s: 36 blocks carry no more
//   multimem     S at 48 %, at most 260 GB/s: the NVSwitch adds
//   NCCL's own   base + softplus(bytes / rate - 1): symmetric kernels from 2.27 on (AllReduce: LL
//                pays 9 S)
// Constants: small_kernels(), each with source and the points it was fitted on.
// Worked example (tests/unit/model): 8 x H100, 128 KiB, graph: one-shot 6.5 us + 7 x 131072 B /
// 391.5 GB/s = 8.84 us; golden G7-06, G7-07: 80 layers, 160 calls, 20 us each: 3.2 ms a step.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/quantity.h"

namespace comm_probe::model {

enum class SmallKernel { kOneShot, kTwoShot, kMultimem, kSymmTwoShot, kNcclSymm };
// "one-shot" | "two-shot" | "multimem" | "symm two-shot" | "symmetric kernel"
const char* small_kernel_name(SmallKernel kernel);

struct KernelModel {
  SmallKernel kernel;
  double start_us;        // with 4 ranks, in a CUDA graph
  double start_per_rank;  // us for each rank above 4
  double outside_us;      // more outside a graph: launch, and the copy into the registered buffer
  double link_share;      // of one GPU's NVLink, one direction
  double most_GBps;       // 0: no other limit
  int barriers;           // or messages that wait for each other
  std::string_view bytes_read;  // "(n-1) S"
  std::string_view source;
  // Mean absolute error against published times, of the worst table; 0: it is no clock.
  double error_share;
};
std::span<const KernelModel> small_kernels();
const KernelModel& small_kernel(SmallKernel kernel);

struct SmallJob {
  int ranks = 8;
  core::Bytes bytes = {};
  core::Bandwidth link = {};  // NVLink of one GPU, one direction
  int sm = 90;
  bool in_graph = true;
};
struct SmallTime {
  core::Duration start = {};
  core::Duration bandwidth = {};
  core::Bytes read = {};  // by one rank
  core::Bandwidth rate = {};
  core::Duration total() const { return start + bandwidth; }
};
// At least two ranks and a link.
SmallTime small_time(SmallKernel kernel, const SmallJob& job);

// Of NCCL's tuning model, by compute capability: not the mean but the worst published row to 4 MiB,
// as a share of what is predicted. Both: docs/measured/published-inference.md ("By kernel").
double nccl_error_share(int sm);
inline constexpr std::string_view kErrorSource = "docs/measured/published-inference.md";

// What NCCL pays outside a graph beyond its own model: the launch (assumed, 5 to 10 us).
core::Duration nccl_launch(bool in_graph);

// Which of the two the kernel of vLLM takes (vLLM csrc/custom_all_reduce.cuh; golden G7-09):
// two ranks and S below the limit one-shot, else two-shot.
SmallKernel custom_kernel(int ranks, core::Bytes bytes);
core::Bytes one_shot_limit(int ranks);  // strictly below

// One vector of `hidden` for each token of the step (golden G7-01: 8 x 8192 x 2 B = 128 KiB).
core::Bytes all_reduce_bytes(int tokens, int hidden, int item_bytes);

// Calls of one decode step: one all_reduce behind the attention and one behind the MLP block.
struct DecodeStep {
  int layers = 0;
  int calls_per_layer = 2;
  int calls() const { return layers * calls_per_layer; }
};

inline constexpr int kCustomBlocks = 36;                              // golden G7-08
inline const core::Bytes kCustomMost = core::Bytes::of(8192 * 1024);  // golden G7-10, strict

}  // namespace comm_probe::model
