// The JSON of `nccl plan`: the fields and names of data/oracle/README.md, so that an oracle file
// compares field by field. Matrices are in index order; more than 16 GPUs give counts instead.
#pragma once

#include "core/json.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

core::Json plan_inputs_json(const nccl::JobReach& plan);
core::Json plan_paths_json(const nccl::JobReach& plan);

// A 32-bit float as it prints: 370.8 and not 370.799987793.
core::Json json_rate(topology::NcclRate rate);
// "P2P:read", "P2P:via3", "SHM", "NET", "-"
std::string transport_text(const nccl::Reach& reach, const nccl::PeerRules& rules, int from,
                           int to);

}  // namespace comm_probe::cli
