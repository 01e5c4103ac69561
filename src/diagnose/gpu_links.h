// Are the measured links of the GPUs what the machine can do? Each beside its ceiling; the matrices
// of all pairs go through the rules for nvbandwidth's output (link_tests.h).
//
//   host and GPU   PCIe after packet overhead, as the link is trained (catalog/links.h, MPS 256);
//                  both directions: twice that
//   inside a GPU   half of the memory's bandwidth: each byte is read and written
//   between GPUs   the narrowest link of the road between them (topology), NVLink or PCIe
//
// Worked example (tests/unit/diagnose/gpu_links_test.cc): gen5 x16 carries 56.41 GB/s; D2H at 55.2
// is 97.9 % of it, and 40 GB/s is link.gpu-below-slot.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"
#include "curve/link_test.h"
#include "diagnose/links.h"
#include "measure/link/gpu_links.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

struct GpuCeiling {
  core::Sourced<core::Bandwidth> rate = {};
  std::string name = {};  // "PCIe gen5 x16"
};
// Nothing where the link has no rate, or this machine does not say what carries it. `survey` is
// that of this machine; absent: it could not be read.
std::optional<GpuCeiling> ceiling_of(const measure::GpuLink& link, const measure::GpuLinks& links,
                                     const std::optional<topology::Survey>& survey);

// Shares of the ceiling below which a link is a finding: name, value, applies when, source
// Between host and GPU, of what the slot carries after packet overhead: golden G2-08 has copies at
// 80 to 90 % of nominal, which is 0.91 and more of this; an H200 has shown 0.85 and 0.98.
inline constexpr double kBelowSlot = 0.75;
// Between GPUs, of the nominal rate: nvbandwidth shows 0.87 on 18 links of generation 4 (393 of 450
// GB/s); golden G2-08 has 0.8 for PCIe.
inline constexpr double kBelowLinks = 0.7;

// Above this a GPU was at work for somebody else: NVML shows 0 for one that is left alone.
inline constexpr int kBusyPercent = 10;

// The same figures as nvbandwidth would have printed them: a matrix per kind, in GB/s and us.
curve::LinkTest link_test_of(const measure::GpuLinks& links);

LinkJudgement judge_gpu_links(const measure::GpuLinks& links,
                              const std::optional<topology::Survey>& survey);

}  // namespace comm_probe::diagnose
