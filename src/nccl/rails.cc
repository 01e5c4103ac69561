#include "nccl/rails.h"

#include <algorithm>
#include <set>

#include "nccl/net_choice.h"

namespace comm_probe::nccl {

using topology::Gpu;
using topology::Machine;
using topology::Net;
using topology::NodeType;

namespace {

int rail_of(const Reach& reach, int net) { return reach.net(net).dev.value_or(net); }

// Sends from one GPU to every GPU of another node.
void count_sends(const Reach& reach, NetChoice& choice, int gpu, const std::vector<int>& devs,
                 Rails& rails) {
  for (std::size_t peer = 0; peer < rails.gpus.size(); ++peer) {
    const auto way = net_to_peer(reach, choice, gpu, devs[peer]);
    if (!way || !rails.gpus[peer].rail) continue;
    if (rail_of(reach, way->net) != *rails.gpus[peer].rail)
      ++rails.across;
    else if (way->gpu == gpu)
      ++rails.direct;
    else
      ++rails.by_neighbour;
  }
}

}  // namespace

core::Result<std::vector<Reach>> every_domain(const JobReach& job) {
  std::vector<Reach> domains = {job.reach};
  for (std::size_t i = 1; i < job.domains.size(); ++i) {
    auto reach = reach_of_domain(job, static_cast<int>(i));
    if (!reach) return reach.error();
    domains.push_back(std::move(*reach));
  }
  return domains;
}

Rails rails_of(const std::vector<Reach>& domains) {
  std::vector<NetChoice> choices;
  for (const Reach& reach : domains) choices.emplace_back(reach);
  Rails rails;
  std::vector<int> devs;
  std::set<int> used;
  for (std::size_t i = 0; i < domains.size(); ++i)
    for (int gpu = 0; gpu < domains[i].gpus(); ++gpu) {
      RailOfGpu own{.domain = static_cast<int>(i), .gpu = gpu, .net = choices[i].net_of(gpu, 0)};
      if (own.net) own.rail = rail_of(domains[i], *own.net);
      if (own.rail) used.insert(*own.rail);
      rails.gpus.push_back(own);
      devs.push_back(domains[i].gpu(gpu).dev.value_or(gpu));
    }
  rails.count = static_cast<int>(used.size());
  for (const RailOfGpu& own : rails.gpus) {
    const auto domain = static_cast<std::size_t>(own.domain);
    count_sends(domains[domain], choices[domain], own.gpu, devs, rails);
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
