// The plan of the job that the log describes, on a topology of the same host that lies in the pile:
// what `log --topo FILE` compares, without being asked. Nothing where the log says nothing of its
// decisions, no topology of a host of it is a graph, or the job uses other GPUs than are there.
//
//   nccl.log (channels, rings, choices of two nodes) and node1/topo.xml
//   -> "search ring equal 1 of 1, choices equal 9 of 9"; log.plan-differs where they are not
#pragma once

#include <optional>
#include <vector>

#include "core/document.h"
#include "diagnose/job.h"

namespace comm_probe::cli {

struct DoctorPlan {
  std::vector<core::Finding> findings = {};
  std::vector<core::Block> blocks = {};  // for --why
  core::Json json = {};
};
std::optional<DoctorPlan> plan_of_pile(const nccl::DebugLog& log,
                                       const std::vector<diagnose::JobMachine>& machines);

}  // namespace comm_probe::cli
