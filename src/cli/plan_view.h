// `nccl plan` for people: per GPU its NIC and whether GPUDirect RDMA is used, the GPU pairs by what
// carries their data, domains.
#pragma once

#include "core/document.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

// `with_pairs` adds every GPU pair and every GPU-NIC pair with its reason.
core::Document plan_document(const nccl::JobReach& plan, bool with_pairs);

}  // namespace comm_probe::cli
