// The measured lines of the acceptance list that are about GPUs: does every GPU, and every pair,
// reach the share of its ceiling below which gpu_links.h has a finding?
//
//   gen5 x16, pinned copies at 55.4 GB/s: "at least 42.3 GB/s (75 % of PCIe gen5 x16)", pass
#pragma once

#include <optional>
#include <vector>

#include "diagnose/walk.h"
#include "measure/link/gpu_links.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

// What this machine does not show (one GPU has no pairs) is not here.
std::vector<Check> gpu_acceptance(const measure::GpuLinks& links,
                                  const std::optional<topology::Survey>& survey);

}  // namespace comm_probe::diagnose
