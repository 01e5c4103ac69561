// Which ways does NCCL's data take on the machine of the pile: through host memory although the
// GPUs have NVLink, over a few of the NICs that it lists? The log alone does not know the links,
// the topology not what was made of them.
//
//   GPU0 - GPU1 NV18, every connection inside of the node "via SHM": job.nvlink-unused
//   8 NICs listed, all connections over NIC 0, a table at 14 %: job.nics-unused accounts for it;
//   with no gap beside it, it is only noted
#pragma once

#include <optional>
#include <vector>

#include "diagnose/job.h"
#include "diagnose/job_gap.h"

namespace comm_probe::diagnose {

std::vector<core::Finding> judge_ways(const JobFacts& facts, const std::optional<JobGap>& gap,
                                      const std::vector<core::Finding>& others);

}  // namespace comm_probe::diagnose
