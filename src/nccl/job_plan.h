// JobPlan: everything NCCL decides for a job before its first call: what each domain's searches
// found, what the ranks agree on, the channels and how they are joined (NCCL 2.28.9 src/init.cc,
// initTransportsRank).
//
//   DGX H100, two nodes: 8 search channels, 16 of collectives, tree depth 8 (tests/oracle)
#pragma once

#include "nccl/channel_counts.h"
#include "nccl/channel_settings.h"
#include "nccl/connection.h"
#include "nccl/reach.h"

namespace comm_probe::nccl {

struct JobPlan {
  JobReach job = {};
  Connection connection;
  Agreement agreement = {};
  ChannelCounts counts = {};
  std::vector<ChannelSource> channels = {};  // of collectives

  const Graphs& own() const { return connection.domains().front(); }  // of rank 0's domain
};

// Fails where a domain's paths cannot be found.
core::Result<JobPlan> plan_job(JobReach job, const ChannelSettings& settings);
// From a machine, settings and a job, with the paths on the way.
core::Result<JobPlan> plan_job(const topology::Machine& machine, const Environment& environment,
                               topology::NcclVersion version, const Job& job);

// The two ranks of node 0 that carry a ring channel to the neighbour nodes.
struct RingEnd {
  int rank = 0;
  int net = 0;       // index
  int driver = 0;    // rank whose process drives the net: another one with PXN
  int gdr_mode = 0;  // 0 off, 1 on, 2 over PCIe
};
struct RingEnds {
  RingEnd send = {};
  RingEnd receive = {};
};
std::vector<RingEnds> ring_ends(const JobPlan& plan);

}  // namespace comm_probe::nccl
