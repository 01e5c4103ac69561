// How many channels does each kind of traffic get? The search's channels are doubled, then
// stretched and cut by settings; NVLink SHARP and send/recv have rules of their own (NCCL 2.28.9
// src/graph/connect.cc, src/graph/paths.cc ncclTopoComputeP2pChannels, src/transport/nvls.cc).
//
//   DGX H100, two nodes: 8 search channels -> 16, NVLS 16, send/recv 16, 2 per peer
#pragma once

#include <vector>

#include "nccl/channel_settings.h"
#include "nccl/connection.h"
#include "nccl/reach.h"

namespace comm_probe::nccl {

// Where each collective channel comes from.
std::vector<ChannelSource> collective_channels(const Connection& connection,
                                               const Agreement& agreement,
                                               const ChannelSettings& settings);

int nvls_channels(const Reach& reach, const ChannelSettings& settings);

struct PeerChannels {
  int all = 0;
  int per_peer = 0;
};
// `reach` is of rank 0; `collective` is the number of collective channels.
PeerChannels peer_channels(const Reach& reach, int collective, const ChannelSettings& settings);

}  // namespace comm_probe::nccl
