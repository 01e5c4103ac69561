#include "nccl/rails.h"

#include <algorithm>
#include <set>

#include "nccl/net_choice.h"

namespace comm_probe::nccl {

using topology::Gpu;
using topology::Machine;
using topology::Net;
using topology::NodeType;

Rails rails_of(const Reach& reach) {
  NetChoice choice(reach);
  Rails rails;
  std::set<int> used;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    rails.net_of_gpu.push_back(choice.net_of(gpu, 0));
    if (rails.net_of_gpu.back()) used.insert(*rails.net_of_gpu.back());
  }
  rails.count = static_cast<int>(used.size());
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    for (int peer = 0; peer < reach.gpus(); ++peer) {
      const auto rail = rails.net_of_gpu[static_cast<std::size_t>(peer)];
      const auto way = net_to_peer(reach, choice, gpu, reach.gpu(peer).dev.value_or(peer));
      if (!way || !rail) continue;
      if (way->net != *rail)
        ++rails.across;
      else if (way->gpu == gpu)
        ++rails.direct;
      else
        ++rails.by_neighbour;
    }
  return rails;
}

Machine as_one_job(const Machine& machine) {
  Machine job = machine;
  const auto& gpus = job.of(NodeType::kGpu);
  const bool has_ranks = std::any_of(
      gpus.begin(), gpus.end(), [&](int gpu) { return job.node(gpu).as<Gpu>().rank.has_value(); });
  if (has_ranks) return job;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Gpu gpu = job.node(gpus[i]).as<Gpu>();
    gpu.rank = static_cast<int>(i);
    if (!gpu.dev) gpu.dev = static_cast<int>(i);
    gpu.gdr = true;
    job.node(gpus[i]).kind = gpu;
  }
  for (const int index : job.of(NodeType::kNet)) {
    Net net = job.node(index).as<Net>();
    net.gdr = true;
    job.node(index).kind = net;
  }
  return job;
}

}  // namespace comm_probe::nccl
