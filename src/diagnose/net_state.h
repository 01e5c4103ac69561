// What the counters of network ports say: between two snapshots (drops, retransmissions, marks,
// pauses, flaps, uneven use), or of one snapshot, which counts since the driver was loaded and so
// can only say where to look. Rules: table of counters and RoCE health rule of the mlx5 counter
// documentation; limits stand in net_limits() with their sources.
//
//   in 60 s: rx_discards_phy 812 more, rx_prio*_pause and tx_prio*_pause 0 more
//     -> topo.net-class-mismatch: packets are dropped and nothing was ever paused
//   port_xmit_data 375e9 more in 60 s = 375e9 x 4 B / 60 s = 25 GB/s of a 50 GB/s port
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/finding.h"
#include "topology/net_change.h"

namespace comm_probe::diagnose {

struct NetCheck {
  std::string what = {};     // "links stayed up"
  std::string outcome = {};  // "fine", "wrong", "see above", "not known: no such counter"
};

struct NetJudgement {
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};
  std::vector<NetCheck> checks = {};
};

NetJudgement judge_network(const topology::NetChange& change);
// One snapshot: at most information, with the way to a second one; limits the conclusion.
NetJudgement judge_network(const topology::NetSnapshot& snapshot);

// Ports whose records have no known order.
std::vector<core::Caveat> caveats_of(const topology::NetEnds& ends);

// Bytes that a port sent and received between the snapshots; nothing where no source counts them.
std::optional<core::Bytes> bytes_sent(const topology::PortChange& port);
std::optional<core::Bytes> bytes_received(const topology::PortChange& port);

struct NetLimit {
  const char* name;
  double value;
  const char* applies_when;
  const char* source;
};
std::span<const NetLimit> net_limits();
// The value of the row of this name, which must be there.
double limit_in(std::span<const NetLimit> limits, std::string_view name);

}  // namespace comm_probe::diagnose
