// The schedule of one collective as flows: rounds where the algorithm has them, else trees: chains,
// the plain binary tree, and NCCL's two trees, over all ranks (double-tree) or over the nodes with
// a chain in each (nccl-tree; model/node_tree.h).
#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "model/closed_form.h"
#include "model/flow_schedule.h"
#include "sim/planned_channels.h"

namespace comm_probe::sim {

struct JobSchedule {
  // Several trees go at once, each with its part.
  std::vector<std::unique_ptr<model::FlowSchedule>> parts = {};
  // Of every part, the rank that stands at each of its places; none: they stand in order.
  std::vector<std::vector<int>> orders = {};
  const model::RoundSchedule* rounds = nullptr;  // where it is rounds
  double messages = 0;
  bool at_once = false;  // what leaves a node takes all its NICs
};

// Chains and trees are cut into chunks. Refuses what has no flows.
core::Result<JobSchedule> schedule_of(const model::Collective& collective,
                                      model::Algorithm algorithm, const model::Placement& at,
                                      core::Bytes chunk);
// By the rings of NCCL's plan, or its trees (nccl-tree). Refuses other algorithms, and a plan of
// other ranks.
core::Result<JobSchedule> schedule_of(const model::Collective& collective,
                                      model::Algorithm algorithm, const PlannedChannels& channels,
                                      core::Bytes chunk);

}  // namespace comm_probe::sim
