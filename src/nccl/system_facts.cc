#include "nccl/system_facts.h"

#include <algorithm>

#include "nccl/peer_rules.h"

namespace comm_probe::nccl {
namespace {

using topology::LinkType;
using topology::NcclRate;
using topology::Path;
using topology::PathType;

NcclRate leaving(const topology::Node& gpu) {
  NcclRate nvlinks{0};
  NcclRate pci{0};
  for (const topology::Link& link : gpu.links) {
    if (link.type == LinkType::kNvl) nvlinks.GBps += link.nccl.GBps;
    if (link.type == LinkType::kPci) pci = link.nccl;
  }
  return std::max(nvlinks, pci);
}

}  // namespace

SystemFacts system_facts(const Reach& reach) {
  SystemFacts facts;
  const PeerRules rules(reach);
  const bool is_lone = reach.gpus() == 1 && !reach.is_inter();
  if (is_lone) facts.best_path = facts.gpu_total = topology::kLocalRate;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    if (!is_lone)
      facts.gpu_total = std::max(facts.gpu_total, leaving(reach.machine.node(reach.gpu_node(gpu))));
    if (reach.is_inter())
      for (int net = 0; net < reach.nets(); ++net)
        facts.best_path = std::max(facts.best_path, reach.gpu_to_net(gpu, net).bandwidth);
    for (int peer = 0; peer < reach.gpus(); ++peer) {
      if (peer == gpu) continue;
      const Path path = reach.gpu_to_gpu(gpu, peer);
      if (!reach.is_inter()) facts.best_path = std::max(facts.best_path, path.bandwidth);
      facts.all_nvlink = facts.all_nvlink && path.type < PathType::kPix;
      if (gpu > peer) continue;  // NCCL asks every pair once, in this order
      const PeerVerdict verdict = rules.verdict(gpu, peer);
      facts.all_direct_p2p = facts.all_direct_p2p && verdict.allowed() && !verdict.relay;
      facts.all_driver_p2p =
          facts.all_driver_p2p && (reach.job.driver_p2p || reach.settings.disabled_p2p == 2);
    }
  }
  return facts;
}

}  // namespace comm_probe::nccl
