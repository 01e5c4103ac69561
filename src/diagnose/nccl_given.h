// What a what-if must say about the settings that it was given (`nccl plan --env`, `nccl choose
// --env`): names that NCCL does not know and values that it reads as something else are findings;
// settings that would change the plan and are not modelled limit it; those that change nothing in
// it are named.
//
//   NCCL_ALGOS=Ring      -> nccl.env-misspelt
//   NCCL_IB_DISABLE=1    -> nccl.setting-unmodelled, which limits the conclusion
//   NCCL_DEBUG=INFO      -> nccl.setting-unused
#pragma once

#include <vector>

#include "diagnose/diagnose.h"
#include "nccl/nccl.h"

namespace comm_probe::diagnose {

Judgement judge_given_settings(const nccl::Environment& environment, topology::NcclVersion version);

// nccl.version-unproven for every release but the one that was compared with.
std::vector<core::Caveat> version_caveats(topology::NcclVersion version);

}  // namespace comm_probe::diagnose
