// Reads the rings and trees of `nccl plan --full --json`: result.rings.unique lists the ranks of
// every ring, result.trees.unique the parent and children of every rank ("-1:1/8/-1 0:2/-1/-1
// ..."), channel_to_unique which of them each channel uses.
#pragma once

#include <string>

#include "core/result.h"
#include "sim/planned_channels.h"

namespace comm_probe::sim {

// Fails on what is no such plan, on one that is shortened, and on rings and trees that do not reach
// every rank once.
core::Result<PlannedChannels> read_nccl_plan(const std::string& name, const std::string& text);
core::Result<PlannedChannels> nccl_plan_file(const std::string& path);

}  // namespace comm_probe::sim
