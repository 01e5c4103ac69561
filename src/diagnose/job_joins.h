// Where two artifacts of a job contradict each other, or one shows what the other cannot know: the
// log's NIC of a GPU beside the nearest one by the topology, sockets beside ports that are up,
// fewer NICs than the node has, two releases of NCCL.
//
//   log: GPU0 sends over mlx5_4; topology: GPU0 - mlx5_0 PIX, GPU0 - mlx5_4 SYS -> job.nic-far
#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/job.h"

namespace comm_probe::diagnose {

// A port that is down is a remark, because nobody says that it is used; where the port of this name
// is up on another machine of the pile it is a warning.
void weigh_down_ports(const JobFacts& facts, std::vector<core::Finding>& found);

// `found` is what the areas found by themselves; what they said is not said again.
Judgement judge_joins(const JobFacts& facts, const std::vector<core::Finding>& found);

}  // namespace comm_probe::diagnose
