#include "nccl/channel_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "nccl/net_choice.h"
#include "nccl/search_rules.h"

namespace comm_probe::nccl {
namespace {

using topology::LinkType;
using topology::NodeType;
using topology::Path;
using topology::PathType;

constexpr float kFastRing = 45;  // GB/s per channel from which Hopper gets twice the channels
constexpr int kLeastToNet = 2;   // channels to a peer on another node, small jobs
constexpr int kToPeerWithoutNvlink = 2;
constexpr float kNetShare = 14;  // GB/s of NICs for each channel to a peer, from 2.29 on

// What a GPU has to a CPU directly; the last of several links counts. 0 without one.
float link_to_cpu(const topology::Machine& machine, int gpu_node) {
  float rate = 0;
  for (const topology::Link& link : machine.node(gpu_node).links)
    if (machine.node(link.remote).type() == NodeType::kCpu) rate = link.nccl.GBps;
  return rate;
}

// Nets of the GPU that together are as fast as its link to the CPU.
int nets_to_fill(const Reach& reach, NetChoice& choice, int gpu) {
  const float wanted = link_to_cpu(reach.machine, reach.gpu_node(gpu));
  float sum = 0;
  int count = 0;
  for (const int net : choice.nets_of(gpu)) {
    if (sum >= wanted) break;
    sum += reach.gpu_to_net(gpu, net).bandwidth.GBps;
    ++count;
  }
  return count;
}

// NICs of a GPU: how many, how many it needs to fill its link to the CPU, and their bandwidth.
struct OwnNets {
  int count = 0;
  int needed = 0;
  float sum = 0;  // GB/s
};

OwnNets own_nets(const Reach& reach, NetChoice& choice, int gpu) {
  OwnNets own{.needed = nets_to_fill(reach, choice, gpu)};
  for (const int net : choice.nets_of(gpu)) {
    ++own.count;
    own.sum += reach.gpu_to_net(gpu, net).bandwidth.GBps;
  }
  return own;
}

int to_other_node(const Reach& reach, const OwnNets& own, int channels,
                  const ChannelSettings& settings) {
  if (settings.per_net_peer) return *settings.per_net_peer;
  if (settings.version < topology::NcclVersion{2, 20, 0}) return kLeastToNet;
  if (settings.version >= topology::NcclVersion{2, 29, 0}) {
    int count = std::max(own.count, static_cast<int>(std::ceil(own.sum / kNetShare)));
    while (static_cast<long>(count) * ((reach.ranks + 7) / 8) > channels && count > 1) count /= 2;
    return count;
  }
  int count = kLeastToNet;
  while (static_cast<long>(count) * reach.ranks > 4L * channels && count > 1) count /= 2;
  return std::max(own.needed, count);
}

int to_local_peer(const Reach& reach, int from, int to) {
  const Path path = reach.gpu_to_gpu(from, to);
  if (path.type != PathType::kNvl) return kToPeerWithoutNvlink;
  const float link = topology::nccl_nvlink_rate(reach.sm(to), reach.settings.version).GBps;
  return 2 * std::max(1, static_cast<int>(path.bandwidth.GBps / link));
}

int power_of_two(int count) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1, count))));
}

}  // namespace

std::vector<ChannelSource> collective_channels(const Connection& connection,
                                               const Agreement& agreement,
                                               const ChannelSettings& settings) {
  std::vector<ChannelSource> channels = doubled(connection.search_channels());
  const auto count = [&] { return static_cast<int>(channels.size()); };
  if (agreement.is_collnet_usable &&
      agreement.collnet_chain.bw_intra > agreement.collnet_chain.bw_inter &&
      agreement.ranks > agreement.nodes)
    repeat_up_to(channels, std::min(most_channels(settings.version), count() + count() / 2));
  if (agreement.nodes > 1 && agreement.ring.bw_intra.GBps > kFastRing &&
      doubles_fast_rings(settings.version, agreement.least_sm, count()))
    repeat_up_to(channels, 2 * count());
  const int most = std::min(settings.max_channels, settings.max_ctas);
  if (count() > most) channels.resize(static_cast<std::size_t>(most));
  repeat_up_to(channels, std::max(settings.min_channels, settings.min_ctas));
  return channels;
}

int nvls_channels(const Reach& reach, const ChannelSettings& settings) {
  int least_sm = 1 << 20;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) least_sm = std::min(least_sm, reach.sm(gpu));
  const bool is_one_nvlink_domain =
      reach.job.nodes == 1 && (reach.job.mnnvl || reach.machine.hosts() == 1);
  const int channels = default_nvls_channels(settings.version, least_sm, is_one_nvlink_domain);
  return std::max(settings.min_ctas,
                  std::min(settings.max_ctas, settings.nvls_channels.value_or(channels)));
}

PeerChannels peer_channels(const Reach& reach, int collective, const ChannelSettings& settings) {
  PeerChannels channels;
  channels.all =
      std::max(std::min(collective, settings.max_p2p_channels), settings.min_p2p_channels);
  int least = channels.all;
  NetChoice choice(reach);
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    for (int peer = 0; peer < reach.gpus(); ++peer)
      if (peer != gpu) least = std::min(least, to_local_peer(reach, peer, gpu));
    if (reach.is_inter())
      least = std::min(least,
                       to_other_node(reach, own_nets(reach, choice, gpu), channels.all, settings));
  }
  channels.all = std::min(power_of_two(channels.all), most_channels(settings.version));
  channels.per_peer = std::min(power_of_two(least), channels.all);
  return channels;
}

}  // namespace comm_probe::nccl
