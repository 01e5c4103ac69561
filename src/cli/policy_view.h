// What NCCL makes of a topology, rule by rule, with the reason of each: P2P, GPUDirect RDMA, the
// NIC of each GPU, PXN, rails, and what kernel and firmware let pass. Shown by `topo check` and
// `nccl plan`.
#pragma once

#include "core/document.h"
#include "nccl/direct_talk.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

struct PolicyLine {
  std::string rule = {};     // "P2P"
  std::string outcome = {};  // "28 of 28 GPU pairs of a node"
  std::string reason = {};   // "distance NVL is within the level PXB"
};

// Fails where a domain's paths cannot be found.
core::Result<std::vector<PolicyLine>> policy_lines(const nccl::JobReach& job,
                                                   const nccl::DirectTalk& talk);
// result.paths.reasons of `nccl plan`: every pair with the reason of its verdict (up to 32 GPUs),
// and what kernel and firmware have to say.
core::Json reasons_json(const nccl::JobReach& job, const nccl::DirectTalk& talk);
// [{"rule", "outcome", "reason"}]
core::Json policy_json(const std::vector<PolicyLine>& lines);
core::KeyValues policy_block(const std::vector<PolicyLine>& lines);

}  // namespace comm_probe::cli
