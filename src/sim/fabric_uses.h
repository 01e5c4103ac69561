// Which links held the flows up, and where a hash laid the bytes unevenly.
#pragma once

#include "sim/fabric_run.h"

namespace comm_probe::sim {

// Fills bottlenecks, by_kind and collisions.
void say_links(std::span<const model::FlowSharing::Use> uses, const FabricGraph& graph,
               FabricOutcome& outcome);

}  // namespace comm_probe::sim
