// Does data go from GPU to NIC without host memory? NCCL's own InfiniBand transport and its plugin
// IBext print /GDRDMA behind every connection that does; where it is missing the connection stages
// through host memory. Other plugins (EFA, FastRak) and sockets are not judged by this, nor Omni-
// Path, where it is normal.
//
//   256 connections "via NET/IB/0", none with /GDRDMA, a table at 47 % of what the ports carry:
//   job.gdr-unused accounts for the gap; with no gap beside it, it is only noted
#pragma once

#include <optional>
#include <vector>

#include "diagnose/job.h"
#include "diagnose/job_gap.h"

namespace comm_probe::diagnose {

struct GdrUse {
  std::uint64_t direct = 0;  // connections with /GDRDMA
  std::uint64_t staged = 0;  // without, where it could be there
  const nccl::LogPlace* first_staged = nullptr;
  std::uint64_t all() const { return direct + staged; }
};
GdrUse gdr_use(const nccl::DebugLog& log);

// job.gdr-unused: a warning beside a gap between nodes, else a note. Quiet where a finding of the
// log says it already.
std::vector<core::Finding> judge_gdr(const JobFacts& facts, const std::optional<JobGap>& gap,
                                     const std::vector<core::Finding>& others);

}  // namespace comm_probe::diagnose
