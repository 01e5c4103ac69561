// Do computation and communication run at the same time on this machine's GPUs, and what does one
// planted synchronise cost? On every GPU a product of matrices (cuda/gemm.cu) on one stream beside
// an all_reduce on another: by NCCL between all GPUs, or, where there is one GPU or no NCCL, by our
// own two-shot kernel between two ranks of one GPU. Then the same work with the host waiting for
// the all_reduce before it launches the product, as `.item()` or an early `.wait()` makes it.
//
//   exposed = the part of the all_reduce during which no product runs, from events on both streams:
//             (c1 - c0) - max(0, min(g1, c1) - max(g0, c0))
//   ledger    together: max(T_gemm, T_comm), exposed max(0, T_comm - T_gemm)
//             with the synchronise: T_gemm + T_comm, exposed T_comm
//
// The streams are held until everything is launched, so that the host's launches count only behind
// the synchronise, where they really wait. T_gemm and T_comm are measured alone in the same run.
//
// Worked example (tests/unit/measure/overlap_test.cc): product from 0 to 4 ms, all_reduce from 1 to
// 5 ms: 1 ms is exposed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "measure/samples.h"

namespace comm_probe::measure {

struct OverlapPlan {
  core::Bytes bytes = core::Bytes::of(std::uint64_t{16} << 20);  // of one all_reduce
  int matrix = 2048;                                             // rows of a product
  // What the products of one sample take, as far as their number can make it; the all_reduces take
  // kCommShare of it.
  core::Duration compute = core::Duration::from_ms(4);
  int samples = 9;
  core::Duration limit = core::Duration::from_seconds(20);  // then everything is ended
};
inline constexpr double kCommShare = 0.7;

struct Interval {
  core::Duration begin = {};
  core::Duration end = {};
  core::Duration length() const { return end - begin; }
};
core::Duration exposed_part(const Interval& communication, const Interval& computation);

// Seconds; of the slowest GPU in each sample.
struct OverlapTimes {
  Summary span = {};  // from the first start to the last end
  Summary exposed = {};
  Summary gemm = {};
  Summary comm = {};
};

struct Overlap {
  std::string mover = {};  // "NCCL 2.28.9", "our two-shot kernel"
  std::string device = {};
  int ranks = 0;
  int gpus = 0;
  core::Bytes bytes = {};
  int matrix = 0;
  int products = 0;  // of one sample
  int calls = 0;     // all_reduces of one sample
  OverlapTimes gemm_alone = {};
  OverlapTimes comm_alone = {};
  OverlapTimes together = {};
  OverlapTimes synchronised = {};
  std::uint64_t wrong = 0;                 // elements of the products
  int interrupted_by = 0;                  // the signal; then nothing else is set
  std::vector<std::string> settings = {};  // in force that order streams: "CUDA_LAUNCH_BLOCKING=1"
};

// In a process of its own, which is ended after `limit`. Fails where there is no GPU, no kernel,
// or NCCL gives up.
core::Result<Overlap> measure_overlap(const OverlapPlan& plan,
                                      const std::function<void(const std::string&)>& progress);

}  // namespace comm_probe::measure
