// The one sentence about all curves of a command, and where each curve stands. "healthy" is said
// only of a curve that was compared with something and lies in its band or above (all_reduce over
// two nodes of reducing NVSwitches: above, as the band is the ring's and trees reach more); without
// a reference a curve is "consistent" at best.
#pragma once

#include <span>
#include <string>

#include "diagnose/baseline.h"
#include "diagnose/reading_judgement.h"

namespace comm_probe::diagnose {

enum class Standing {
  kFaulty,        // an error or a warning
  kHealthy,       // in the band of its reference, or above it
  kRingBand,      // in the ring's band, where NCCL's trees reach more: not below it, no more said
  kPathOpen,      // above the slowest path that its GPUs may have; which they have is not known
  kBelowBand,     // between far below and the band
  kBelowModel,    // the links carry what they should, NCCL's model gives clearly more
  kPlanOnly,      // no band for its forced algorithm, but as fast as NCCL's model of it
  kNotSaturated,  // the sizes do not show the plateau
  kNoReference,
  kSharedGpu,  // ranks took turns on one GPU: times say nothing
  kEmpty       // no rows
};
const char* standing_name(Standing standing);  // "healthy" | "faulty" | "below the band" | ...
Standing standing_of(const JudgedCurve& judged);

// The worst finding; else how it stands against the baseline; else where the curves stand.
std::string verdict_of(std::span<const JudgedReading> readings,
                       std::span<const Comparison> comparisons = {}, const Judgement& across = {});

}  // namespace comm_probe::diagnose
