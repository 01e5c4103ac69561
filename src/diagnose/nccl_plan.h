// What an NCCL plan says about itself: a search that found nothing, one that was cut by its step
// budget. Where a search found nothing, other settings are tried on the same machine, so that the
// finding can name one that helps.
//
//   4 A100 with a NIC each, no NVSwitch, two nodes: the tree search fails, all collectives run on
//   one search channel; NCCL_PXN_DISABLE=1 gives 4 channels of 24 GB/s
#pragma once

#include <vector>

#include "core/finding.h"
#include "nccl/nccl.h"

namespace comm_probe::diagnose {

std::vector<core::Finding> judge_plan(const nccl::JobPlan& plan,
                                      const nccl::ChannelSettings& settings);

}  // namespace comm_probe::diagnose
