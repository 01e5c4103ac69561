// DomainSearch: all searches of one domain, in NCCL's order: ring, tree, CollNet chain, CollNet
// direct, NVLS. What one leaves on the links the next one starts from (NCCL 2.28.9 src/init.cc,
// initTransportsRank).
//
//   tree and CollNet chain get as many channels as the ring found, ring 1 to 32, NVLS and CollNet
//   direct 1 to 64
#pragma once

#include "nccl/channel_settings.h"
#include "nccl/graph.h"
#include "nccl/reach.h"

namespace comm_probe::nccl {

Graphs search_domain(const Reach& reach, const ChannelSettings& settings);

}  // namespace comm_probe::nccl
