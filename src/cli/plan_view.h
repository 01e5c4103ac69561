// `nccl plan` for people: per GPU its NIC and whether GPUDirect RDMA is used, the GPU pairs by what
// carries their data, domains.
#pragma once

#include "core/document.h"
#include "nccl/direct_talk.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

struct PlanViewOptions {
  bool with_pairs = false;  // every GPU pair and every GPU-NIC pair with its reason
  bool is_full = false;     // every ring and tree in JSON, however many ranks
  nccl::DirectTalk talk = {};
};
// Fails where a domain's paths cannot be found.
core::Result<core::Document> plan_document(const nccl::JobPlan& plan,
                                           const PlanViewOptions& options);

}  // namespace comm_probe::cli
