// What becomes of calls under NCCL_ALGO and NCCL_PROTO, beside what it costs (nccl_choice.h): NCCL
// refuses them, uses LL128 where it would not dare to by itself, or (before 2.24) does something
// else than was asked for.
//
//   NCCL_ALGO=Tree, AllGather, 2.28     -> nccl.env-nothing-left; 2.22 -> nccl.env-falls-back: Ring
//   NCCL_PROTO=^LL on PCIe GPUs         -> nccl.env-ll128-forced: "it needs NVLink inside"
//   AllReduce of f8e4m3 on A100         -> nccl.call-refused: FP8 from compute capability 9.0
#pragma once

#include <vector>

#include "core/finding.h"
#include "nccl/choice.h"

namespace comm_probe::diagnose {

std::vector<core::Finding> judge_methods(const nccl::Tuning& tuning,
                                         const std::vector<nccl::Call>& calls);

}  // namespace comm_probe::diagnose
