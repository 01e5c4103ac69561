// What differs between the searches of NCCL versions: the speeds that are tried, where the types
// begin and end, which relaxations exist. Read from the tags 2.18 to 2.30 (src/graph/search.cc,
// src/graph/connect.cc, src/transport/nvls.cc); only 2.28.9 is confirmed by recorded decisions.
//
//   search_speeds({2, 28, 9}, 90, true) begins with 48, 45, 42, 40
#pragma once

#include <vector>

#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

// GB/s per channel that are tried, widest first.
std::vector<float> search_speeds(topology::NcclVersion version, int least_sm, bool is_inter);

struct SearchRules {
  int total_budget = 1 << 19;  // steps of all searches for one graph
  // AMD CPUs and paths between sockets: no search for orders that differ by channel.
  bool keeps_order_on_amd = true;
  // Types begin at the nearest and end at the farthest that the machine has; else at NVL and PIX,
  // and end at SYS.
  bool uses_seen_types = true;
  bool goes_to_sys_before_sm90 = false;  // to the NIC, whatever the machine has
  bool falls_back_without_nic = true;    // the simple order names NIC 0; else the nearest NICs
};
SearchRules search_rules(topology::NcclVersion version);

// Channels are doubled for fast rings over several nodes from this compute capability on, and up
// to how many channels before doubling.
bool doubles_fast_rings(topology::NcclVersion version, int least_sm, int channels);

// NVLink SHARP channels without a setting.
int default_nvls_channels(topology::NcclVersion version, int least_sm, bool is_one_nvlink_domain);

}  // namespace comm_probe::nccl
