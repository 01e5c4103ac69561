// The tuning part of `nccl plan` as JSON: the fields `tuning` and `choice` of an oracle file
// n<nodes>.json (data/oracle/README.md); numbers with seven digits, as NCCL's floats have them.
#pragma once

#include <vector>

#include "core/json.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

// Adds both; nothing for a lone rank, which copies.
void add_tuning_json(core::Json& result, const nccl::Tuning& tuning);

// Every call that `choice` shows, at powers of two from 8 B to 8 GiB; by function in NCCL's order.
std::vector<nccl::Call> calls_of_plan(const nccl::JobPlan& plan);

// 25.20048 and not 25.200479507446289.
core::Json json_time(nccl::NcclTime time);

}  // namespace comm_probe::cli
