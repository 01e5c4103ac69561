// What do NCCL_ALGO and NCCL_PROTO cost? The choice with them beside the choice without, size by
// size: a refusal, or the size at which they cost most.
//
//   NCCL_ALGO=Ring, all_reduce on 32 DGX H100: 3.4x at 25 MB -> nccl.choice-forced
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "nccl/choice.h"

namespace comm_probe::diagnose {

struct ForcedSize {
  std::uint64_t bytes = 0;
  core::Result<nccl::Choice> made;  // with the settings
  nccl::Choice free = {};           // without
};
struct ForcedCost {
  std::string setting = {};   // "NCCL_ALGO=Ring"
  std::string function = {};  // "AllReduce"
  std::vector<ForcedSize> sizes = {};
};

// At most one finding of each kind; none below 5 %.
std::vector<core::Finding> judge_forced_choice(const ForcedCost& cost);

}  // namespace comm_probe::diagnose
