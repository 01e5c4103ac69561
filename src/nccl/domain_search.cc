#include "nccl/domain_search.h"

#include "nccl/graph_search.h"

namespace comm_probe::nccl {

namespace {

// NCCL asks for NVLink SHARP: several GPUs, multicast, and NCCL_NVLS_ENABLE.
bool wants_nvls(const Reach& reach, const ChannelSettings& settings) {
  if (settings.nvls == 0 || reach.gpus() < 2) return false;
  return settings.nvls == 1 || reach.job.multicast;
}

}  // namespace

Graphs search_domain(const Reach& reach, const ChannelSettings& settings) {
  SearchGround ground(reach);
  NetLists nets(reach);
  const auto search = [&](const GraphRequest& request) {
    return GraphSearch(ground, nets, request).run();
  };
  Graphs graphs;
  graphs.ring = search({.id = 0, .pattern = Pattern::kRing});
  const int channels = graphs.ring.traits.n_channels;
  graphs.tree = search({.id = 1,
                        .pattern = Pattern::kBalancedTree,
                        .min_channels = channels,
                        .max_channels = channels});
  if (reach.job.collnet) {
    graphs.collnet_chain = search({.id = 2,
                                   .pattern = Pattern::kTree,
                                   .is_collnet = true,
                                   .min_channels = channels,
                                   .max_channels = channels});
    graphs.collnet_direct = search({.id = 4,
                                    .pattern = Pattern::kCollnetDirect,
                                    .is_collnet = true,
                                    .min_channels = 1,
                                    .max_channels = kMostChannels});
  }
  if (wants_nvls(reach, settings))
    graphs.nvls = search(
        {.id = 3, .pattern = Pattern::kNvls, .min_channels = 1, .max_channels = kMostChannels});
  return graphs;
}

}  // namespace comm_probe::nccl
