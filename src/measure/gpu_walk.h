// What `run` measures of this machine's GPUs beyond their links: NCCL's collectives, our own
// all_reduce beside them, the overlap probe, and an all_to_all. Every stage has a time of its own,
// known beforehand; one that is not over then is ended, and what it has finished counts. What a
// host lacks is a stage that is "not here", with the reason.
//
//   quick, in seconds:  collectives 12 + backends 14 + overlap 6 + all-to-all 8 = 40
//   with the GPU links (kGpuLinksQuick) and the walk over the host's own links (10): below 60
// (tests/unit/measure/gpu_walk_test.cc adds them up).
//
// Each stage runs in processes of its own, so that this one never touches CUDA: links of the GPUs
// are measured here afterwards.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "measure/overlap/overlap.h"

namespace comm_probe::measure {

enum class StageKind { kCollectives, kBackends, kOverlap, kAllToAll };

struct StageEntry {
  StageKind kind;
  const char* name;
  int quick_seconds;  // for all of its runs together
  int seconds;
};
std::span<const StageEntry> gpu_stages();
inline constexpr int kGpuLinksQuickSeconds = 8, kGpuLinksSeconds = 120;

enum class StageOutcome { kMeasured, kCut, kNotHere, kFailed };
const char* stage_outcome_name(StageOutcome outcome);  // "measured" | "cut" | "not here" | "failed"

struct Stage {
  StageKind kind = StageKind::kCollectives;
  std::string name = {};
  StageOutcome outcome = StageOutcome::kMeasured;
  std::string why = {};  // not measured, or not all of it
  core::Duration limit = {};
  core::Duration took = {};
};

struct GpuWalk {
  int gpus = 0;  // that CUDA shows
  std::vector<Stage> stages = {};
  std::vector<Run> collectives = {};  // by NCCL, one run per operation
  std::vector<Run> backends = {};     // all_reduce by NCCL and by our kernels, the same sizes
  std::optional<Overlap> overlap = {};
  std::optional<Run> all_to_all = {};
  int interrupted_by = 0;
};

struct GpuWalkPlan {
  bool is_quick = false;
  core::Bytes largest = {};  // message; zero: 64 MiB with is_quick, else 1 GiB
};

// Must come before anything else in this process has used CUDA (it forks).
GpuWalk walk_gpus(const GpuWalkPlan& plan, const std::function<void(const std::string&)>& progress);

}  // namespace comm_probe::measure
