// What `run` measured of the GPUs, each time beside the ledger that stands for it, and why they are
// apart where they are:
//
//   NCCL's collectives   NCCL's own model of its choice, on the topology that it dumped
//   all_to_all           alpha + (n - 1) / n * bytes / beta: alpha is what the smallest message
//                        of the same run took, beta the rate of the slowest pair that link measured
//   our all_reduce       the same launches that only wait (measured beside it) + bytes / beta, beta
//                        what our kernels read of a peer, or of their own memory where ranks share
//                        a GPU
//   overlap              together max(T_gemm, T_comm), with a synchronise T_gemm + T_comm
//
// A gap of up to kExplainedGap (walk.h) is the ledger's. Beyond it the samples and the
// circumstances are asked. Two streams that take turns although nothing makes them are the finding
// link.no-overlap.
//
// Worked example (tests/unit/diagnose/gpu_walk_test.cc): products 4 ms, all_reduces 3 ms, together
// 4.2 ms: the ledger says 4 ms; 6.9 ms: no overlap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "measure/gpu_walk.h"
#include "measure/link/gpu_links.h"
#include "model/ledger.h"

namespace comm_probe::diagnose {

struct GpuStep {
  std::string name = {};    // "NCCL all_reduce 64 KiB"
  std::string method = {};  // "ring/ll, 2 channels"
  measure::Timing measured = {};
  std::optional<model::Ledger> ledger = {};
  std::optional<core::Duration> predicted = {};
  std::optional<double> gap = {};  // absent: no ledger, or times mean nothing
  std::vector<std::string> explained_by = {};
  bool is_explained = true;
};

std::vector<GpuStep> collective_steps(const measure::Run& run);
// `links` may be absent.
std::vector<GpuStep> all_to_all_steps(const measure::Run& run, const measure::GpuLinks* links);
// Messages that took more than twice what NCCL's own model, or the ledger of the links, gives for
// them, in every sample and by more than a launch could: a finding with the worst of them.
std::optional<core::Finding> far_off(const std::vector<GpuStep>& steps);

std::vector<GpuStep> backend_steps(const measure::Run& run, const measure::GpuLinks* links);

struct OverlapStep {
  std::string name = {};  // "together", "with a synchronise in between"
  core::Duration span = {};
  core::Duration exposed = {};
  core::Duration predicted = {};  // of the span
  double gap = 0;
  std::vector<std::string> explained_by = {};
};
struct OverlapJudgement {
  OverlapStep together = {};
  OverlapStep synchronised = {};
  std::string sentence = {};  // what the synchronise costs
  std::vector<core::Finding> findings = {};
};
OverlapJudgement judge_overlap(const measure::Overlap& overlap);

// Wrong results, ranks that died; stages that failed on a machine that has what they need.
std::vector<core::Finding> gpu_walk_findings(const measure::GpuWalk& walk);
std::vector<core::Caveat> gpu_walk_caveats(const measure::GpuWalk& walk);

}  // namespace comm_probe::diagnose
