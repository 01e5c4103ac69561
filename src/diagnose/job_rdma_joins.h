// What the log says of RDMA beside what the pile shows of ports and modules: the GID that an error
// names and the row of the table that it is, GPUDirect RDMA that is off and the module it needs.
//
//   NCCL_IB_GID_INDEX=0 in the log, row 0 of show_gids fe80::..., row 3 10.20.0.11 RoCE v2
//   -> topo.gid-index: index 3 is the routable one
//   "GPU Direct RDMA Disabled for HCA 0", lsmod has nvidia_peermem, NCCL 2.20
//   -> log.possible-peermem, likely: this NCCL looks for the old name nv_peer_mem
#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/job.h"

namespace comm_probe::diagnose {

// Equal addresses, however they are written ("fe80::e42:a1ff:fe11:2233", or all groups in full).
bool is_same_gid(const std::string& a, const std::string& b);

// Index and GID that the log shows, by the tables of its host; quiet where `found` has it.
Judgement judge_log_gids(const JobFacts& facts, const std::vector<core::Finding>& found);

// What lsmod or a recorded machine proves or refutes of log.possible-peermem.
void weigh_peer_memory(const JobFacts& facts, std::vector<core::Finding>& found);

}  // namespace comm_probe::diagnose
