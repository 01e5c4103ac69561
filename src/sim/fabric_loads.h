// all_to_all with more ranks than pairs can be followed: where all leaves are full every rank sees
// the same, so what rank 0 sends over the links of one kind, times the ranks, over the links of
// that kind, is the load of each. The fullest sets the time; beside it one alpha for each peer.
#pragma once

#include <optional>

#include "sim/fabric_graph.h"

namespace comm_probe::sim {

struct FabricLoads {
  core::Duration time = {};
  std::vector<std::pair<LinkKind, core::Duration>> by_kind = {};  // the slowest first
};
// Refuses ranks that leave some leaf, unit or group partly empty.
core::Result<FabricLoads> all_to_all_loads(const FabricGraph& graph, const FabricShape& shape,
                                           const model::Collective& of);

}  // namespace comm_probe::sim
