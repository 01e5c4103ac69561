// What do settings cost? The choice with them beside NCCL's free choice on the same machine, size
// by size: the size at which they cost most, and which ledger pays. Any setting that changes the
// plan counts, not only NCCL_ALGO and NCCL_PROTO.
//
//   NCCL_ALGO=Ring, all_reduce on 32 DGX H100: 3.46x at 25 MB, the steps pay -> nccl.choice-forced
//   NCCL_P2P_DISABLE=1, 4 DGX H100: 1.62x at 25 MB, the bytes pay
//   NCCL_MAX_NCHANNELS=2: no other time, because NCCL reckons with the channels of its search ->
//   nccl.fewer-channels: 2 of 16
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "nccl/choice.h"

namespace comm_probe::diagnose {

struct ForcedSize {
  std::uint64_t bytes = 0;
  nccl::Choice made = {};  // with the settings
  nccl::Choice free = {};  // without
};
struct ForcedCost {
  std::vector<std::string> settings = {};  // "NCCL_ALGO=Ring"
  std::string function = {};               // "AllReduce"
  std::string where = {};                  // " on 16 ranks of 2 nodes"; empty where it is plain
  std::vector<ForcedSize> sizes = {};
};

// Nothing below 5 %; fewer channels count from half of them.
std::vector<core::Finding> judge_forced_choice(const ForcedCost& cost);

}  // namespace comm_probe::diagnose
