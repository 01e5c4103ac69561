// May a fault of a port be what an error of the network tells of? An error that names its NIC is
// explained by that NIC, on either end of the rail, and by no other one; where the NIC of the other
// end is not known, another port is a possibility and no more.
//
//   "status=12 ... peer 192.0.2.12 ... hca mlx5_3": mlx5_3 down on the peer: yes; mlx5_6 down
//   there, and the peer lists an mlx5_3 too: no
#pragma once

#include <vector>

#include "diagnose/job.h"

namespace comm_probe::diagnose {

// The ports that the evidence of a finding shows.
struct PortOfMachine {
  const JobMachine* machine = nullptr;
  const topology::RdmaPortFacts* port = nullptr;
};
std::vector<PortOfMachine> ports_of_finding(const JobFacts& facts, const core::Finding& finding);

enum class Fit { kNo, kPossible, kLikely, kYes };
// kYes where the two are no pair of a port and an error of the network.
Fit fit_of(const JobFacts& facts, const core::Finding& cause, const core::Finding& effect);

// NCCL goes over TCP alone: what an RDMA port carries is nothing of the job's.
bool goes_over_sockets(const nccl::DebugLog& log);

}  // namespace comm_probe::diagnose
