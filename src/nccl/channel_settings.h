// The NCCL settings that decide how many channels a job gets (NCCL 2.28.9 src/graph/connect.cc,
// src/graph/paths.cc, src/transport/nvls.cc, src/init.cc).
//
//   read_channel_settings({{"NCCL_MIN_NCHANNELS", "24"}, {"NCCL_MAX_NCHANNELS", "8"}}): 24 channels
//   that repeat the first 8; of CTAs the maximum wins
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl/setting_text.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

inline constexpr int kMostChannels = 64;  // NCCL's MAXCHANNELS from 2.25 on
int most_channels(topology::NcclVersion version);

struct ChannelSettings {
  topology::NcclVersion version = {};
  int min_channels = 0;
  int max_channels = kMostChannels;
  int min_ctas = 1;
  int max_ctas = kMostChannels;
  int nvls = 2;                           // NCCL_NVLS_ENABLE: 0 off, 1 assume, 2 ask the device
  std::optional<int> nvls_channels = {};  // NCCL_NVLS_NCHANNELS
  int min_p2p_channels = 1;
  int max_p2p_channels = kMostChannels;
  std::optional<int> per_net_peer = {};  // NCCL_NCHANNELS_PER_NET_PEER
  int collnet_nodes = 2;                 // NCCL_COLLNET_NODE_THRESHOLD
};

ChannelSettings read_channel_settings(const Environment& environment,
                                      topology::NcclVersion version = {});

// The names that read_channel_settings knows.
std::vector<std::string> channel_setting_names();

}  // namespace comm_probe::nccl
