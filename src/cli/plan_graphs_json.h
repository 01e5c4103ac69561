// The search part of `nccl plan` as JSON: the fields and names of an oracle file n<nodes>.json
// (data/oracle/README.md), rings and trees shortened and hashed by the same rule.
#pragma once

#include "core/json.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

// Adds nccl_nodes, graphs, graphs_domainK, channels, rings, trees, nvls, ring_net_node0. `is_full`
// leaves no ring and tree out, however large the job.
void add_graphs_json(core::Json& result, const nccl::JobPlan& plan, bool is_full);

}  // namespace comm_probe::cli
