// What `run` says of the stages on GPUs: JSON and text of a measure::GpuWalk, judged.
#pragma once

#include <optional>
#include <vector>

#include "cli/bench_choices.h"
#include "core/document.h"
#include "diagnose/gpu_walk.h"

namespace comm_probe::cli {

// A run of NCCL beside the plan; `run` has methods and predictions.
struct PlannedRun {
  measure::Run run = {};
  BenchChoices choices = {};
};

struct GpuFindings {
  measure::GpuWalk walk = {};
  std::vector<PlannedRun> collectives = {};  // those of the walk
};
// Reads what NCCL left behind.
GpuFindings judge_gpu_walk(measure::GpuWalk walk);

// `links` are those of the GPUs, where they were measured. Adds to result.steps, result.stages,
// result.overlap, result.choices, the findings and caveats.
void add_gpu_walk(core::Document& document, const GpuFindings& found,
                  const measure::GpuLinks* links);

}  // namespace comm_probe::cli
