// What of a host starves communication: a CPU quota, an affinity or a /dev/shm that is too small,
// GPU-initiated RDMA (IBGDA) without what it needs, and ranks placed so that their traffic takes
// longer ways. Limits stand in host_limits() with their sources.
//
//   8 GPUs and a quota of 4 CPUs: 8 ranks and their 8 proxy threads share 4 CPUs -> topo.cpu-quota
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/finding.h"
#include "diagnose/net_state.h"
#include "nccl/debug_log.h"
#include "topology/host_state.h"

namespace comm_probe::diagnose {

NetJudgement judge_host_state(const topology::HostState& state);
// Two snapshots of one host: CPU time that was withheld between them.
NetJudgement judge_host_change(const topology::HostState& before, const topology::HostState& after);

// Where one rank of a job runs; what is not known stays empty.
struct RankPlace {
  int rank = 0;
  std::string host = {};
  int local_gpu = -1;    // index or position of its GPU on the host, -1: not known
  std::string nic = {};  // that it uses for its own traffic: "mlx5_3"
  int of_ranks = 0;      // of the whole job, 0: those that are told
};
// Ranks packed node by node, as many on each, the same NIC for the same GPU everywhere. Quiet where
// fewer than two hosts are known.
std::vector<core::Finding> judge_rank_places(std::vector<RankPlace> places);
// Of the largest communicator that a log shows; GPUs are counted by bus id on each host, NICs are
// not told (NCCL numbers them by itself).
std::vector<RankPlace> rank_places_of(const nccl::DebugLog& log);

std::span<const NetLimit> host_limits();

}  // namespace comm_probe::diagnose
