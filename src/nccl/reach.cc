#include "nccl/reach.h"

#include <fmt/format.h>

#include <algorithm>

#include "nccl/gdr_rules.h"
#include "nccl/net_choice.h"
#include "nccl/peer_rules.h"

namespace comm_probe::nccl {

using core::Error;
using core::Result;
using topology::LinkType;
using topology::Machine;
using topology::Node;
using topology::NodeType;
using topology::Path;
using topology::PathType;

int Reach::relay_to(int gpu, int net) const {
  if (gpu_to_net(gpu, net).type != PathType::kPxn) return gpu;
  const auto hops = paths.hops(machine, gpu_node(gpu), net_node(net));
  for (std::size_t i = 1; i < hops.size(); ++i)
    if (machine.node(hops[i].node).type() == NodeType::kGpu)
      return machine.index_in_type(hops[i].node);
  return gpu;
}

std::optional<Error> Reach::compute() {
  auto raw = topology::Paths::between(machine, {.nvlink_relay = settings.nvlink_relay});
  if (!raw) return raw.error();
  paths = std::move(*raw);
  cpu_of_.assign(static_cast<std::size_t>(gpus()), 0);
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    int fewest = 0;
    for (int cpu = 0; cpu < cpus(); ++cpu) {
      const int hops = gpu_to_cpu(gpu, cpu).hops;
      if (hops > 0 && (fewest == 0 || hops < fewest)) {
        fewest = hops;
        cpu_of_[static_cast<std::size_t>(gpu)] = cpu;
      }
    }
  }
  if (auto error = reroute_peers()) return error;
  mark_c2c();
  return reroute_nets();
}

std::optional<Error> Reach::reroute_peers() {
  const PeerRules rules(*this);
  for (int to = 0; to < gpus(); ++to) {
    const int cpu = cpu_node(cpu_of(to));
    std::vector<PeerVerdict> verdicts;
    for (int from = 0; from < gpus(); ++from) {
      verdicts.push_back(rules.verdict(from, to));
      const PeerVerdict& verdict = verdicts.back();
      if (verdict.is_fatal)
        return core::input_error(
            fmt::format("NCCL would refuse this machine: P2P is disabled between the NVLink "
                        "connected GPUs {} and {}",
                        gpu(from).dev.value_or(from), gpu(to).dev.value_or(to)),
            "check the fabric manager and `nvidia-smi topo -p2p r`, or pass --driver-p2p 1");
      if (verdict.allowed()) continue;
      const PathType type =
          merge_types(paths.path(gpu_node(from), cpu).type, paths.path(cpu, gpu_node(to)).type);
      paths.send_by_way_of(gpu_node(from), gpu_node(to), cpu, type);
    }
    for (int from = 0; from < gpus(); ++from) {
      const Transport transport =
          rules.transport(from, to, verdicts[static_cast<std::size_t>(from)]);
      if (transport == Transport::kNet || transport == Transport::kNone)
        paths.set_type(gpu_node(from), gpu_node(to), PathType::kNet);
    }
  }
  return std::nullopt;
}

void Reach::mark_c2c() {
  for (int net = 0; net < nets(); ++net)
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      const int cpu = cpu_node(cpu_of(gpu));
      const PathType merged =
          merge_types(paths.path(gpu_node(gpu), cpu).type, paths.path(net_node(net), cpu).type);
      if (merged != PathType::kP2c) continue;
      const auto nearer = [&](int from, int to) {
        paths.set_type(from, to, std::min(merged, paths.path(from, to).type));
      };
      nearer(gpu_node(gpu), net_node(net));
      nearer(net_node(net), gpu_node(gpu));
    }
}

bool Reach::neighbour_is_better(int net, int gpu, int neighbour) const {
  const PathType farthest = settings.pxn_c2c ? PathType::kP2c : PathType::kPxb;
  const Path direct = gpu_to_net(gpu, net);
  const Path relayed = gpu_to_net(neighbour, net);
  return neighbour != gpu && relayed.type <= farthest &&
         gpu_to_gpu(neighbour, gpu).type <= PathType::kNvl &&
         host_of_gpu(neighbour) == host_of_gpu(gpu) &&
         (relayed.bandwidth > direct.bandwidth || direct.type > PathType::kPxn);
}

std::optional<Error> Reach::relay_by_neighbour(int net, int gpu, int neighbour) {
  if (gpu_to_gpu(gpu, neighbour).type > PathType::kNvl)
    return core::input_error(
        fmt::format("NCCL would refuse this machine: GPU {} has no NVLink path to GPU {}, but the "
                    "reverse has one",
                    this->gpu(gpu).dev.value_or(gpu), this->gpu(neighbour).dev.value_or(neighbour)),
        "an nvlink element must stand in both GPUs");
  paths.send_by_way_of(gpu_node(gpu), net_node(net), gpu_node(neighbour), PathType::kPxn);
  return std::nullopt;
}

void Reach::send_through_cpu(int net, int gpu) {
  const int cpu = cpu_node(cpu_of(gpu));
  const auto detour = [&](int from, int to) {
    paths.send_by_way_of(from, to, cpu,
                         merge_types(paths.path(from, cpu).type, paths.path(cpu, to).type));
  };
  detour(net_node(net), gpu_node(gpu));
  detour(gpu_node(gpu), net_node(net));
}

std::optional<Error> Reach::reroute_nets() {
  NetChoice choice(*this);
  for (int net = 0; net < nets(); ++net)
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      const auto neighbour = settings.pxn ? choice.gpu_of(net) : std::nullopt;
      if (neighbour && neighbour_is_better(net, gpu, *neighbour)) {
        if (auto error = relay_by_neighbour(net, gpu, *neighbour)) return error;
        choice.forget(gpu, net);
      }
      if (gpu_to_net(gpu, net).type >= PathType::kPhb) continue;
      if (gdr_verdict(*this, gpu, net, Direction::kReceive).mode != GdrMode::kOff) continue;
      send_through_cpu(net, gpu);
      choice.forget(gpu, net);
    }
  return std::nullopt;
}

Job implied_job(const Machine& machine) {
  Job job;
  bool has_nvlink = false;
  bool has_gdr = false;
  int least_sm = 1 << 20;
  for (const int index : machine.of(NodeType::kGpu)) {
    const Node& node = machine.node(index);
    has_gdr = has_gdr || node.as<topology::Gpu>().gdr;
    least_sm = std::min(least_sm, node.as<topology::Gpu>().sm.value_or(0));
    for (const auto& link : node.links) has_nvlink = has_nvlink || link.type == LinkType::kNvl;
  }
  job.multicast = machine.count(NodeType::kNvs) > 0 && least_sm >= 90;
  job.driver_p2p = has_nvlink || has_gdr;
  job.mnnvl = machine.hosts() > 1;
  return job;
}

namespace {

// Marks what a rank or the network plugin uses, and all that stands above it; tells whether `index`
// or anything below it is used.
bool mark_used(const Machine& machine, int index, int above, std::vector<bool>& used) {
  const Node& node = machine.node(index);
  bool is_used = false;
  if (node.type() == NodeType::kGpu) {
    is_used = node.as<topology::Gpu>().rank.has_value();
  } else if (node.type() == NodeType::kNet) {
    is_used = node.as<topology::Net>().dev.has_value();
  } else {
    for (const auto& link : node.links)
      if (link.remote != above && (link.type == LinkType::kPci || link.type == LinkType::kNet))
        is_used = mark_used(machine, link.remote, index, used) || is_used;
  }
  used[static_cast<std::size_t>(index)] = is_used;
  return is_used;
}

// As NCCL trims its XML: what no rank and no network plugin uses goes, with the switches and CPUs
// that then hold nothing.
Machine used_part(const Machine& machine) {
  std::vector<bool> used(machine.nodes.size());
  for (const int cpu : machine.of(NodeType::kCpu)) mark_used(machine, cpu, -1, used);
  for (const int fabric : machine.of(NodeType::kNvs))
    for (const auto& link : machine.node(fabric).links)
      if (used[static_cast<std::size_t>(link.remote)])
        used[static_cast<std::size_t>(fabric)] = true;
  used.flip();
  return machine.without(used);
}

// ": gpu 0000:4b:00.0 has none", of the machine as its file describes it.
std::string without_rank(const Machine& described) {
  std::string names;
  for (const int index : described.of(NodeType::kGpu))
    if (!described.node(index).as<topology::Gpu>().rank)
      names += (names.empty() ? "; no rank has gpu " : ", ") + described.node(index).bus_id;
  return names;
}

// Ranks must be 0 .. n-1, each once.
std::optional<Error> check_ranks(const Machine& machine, const Machine& described) {
  const int count = machine.count(NodeType::kGpu);
  if (described.count(NodeType::kGpu) == 0)
    return core::input_error("there is no GPU in this topology: NCCL has nothing to plan",
                             "record a machine with GPUs, or take one of `comm-probe machines`");
  if (count == 0)
    return core::input_error("no gpu has a rank: the file describes only the PCI tree",
                             "plan with a dump of a running job (NCCL_TOPO_DUMP_FILE)");
  std::vector<bool> seen(static_cast<std::size_t>(count));
  for (const int index : machine.of(NodeType::kGpu)) {
    const int rank = *machine.node(index).as<topology::Gpu>().rank;
    if (rank >= count || seen[static_cast<std::size_t>(rank)])
      return core::input_error(fmt::format("gpu {} has rank {}, expected ranks 0 to {} each once{}",
                                           machine.node(index).bus_id, rank, count - 1,
                                           without_rank(described)));
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return std::nullopt;
}

// Per GPU the lowest index that it reaches without the network.
std::vector<int> domain_of_gpus(const Reach& reach) {
  std::vector<int> domain;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    domain.push_back(gpu);
    for (int peer = 0; peer < gpu; ++peer)
      if (reach.gpu_to_gpu(gpu, peer).type < PathType::kNet)
        domain.back() = std::min(domain.back(), domain[static_cast<std::size_t>(peer)]);
  }
  return domain;
}

std::vector<std::vector<int>> ranks_by_domain(const Reach& reach, const std::vector<int>& domain) {
  std::vector<std::vector<int>> groups(domain.size());
  for (std::size_t gpu = 0; gpu < domain.size(); ++gpu)
    groups[static_cast<std::size_t>(domain[gpu])].push_back(reach.rank(static_cast<int>(gpu)));
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  for (auto& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end());
  return groups;
}

// `whole` without the GPUs of other ranks.
Result<Reach> only_ranks(const Reach& whole, const std::vector<int>& ranks) {
  std::vector<bool> gone(whole.machine.nodes.size());
  for (int gpu = 0; gpu < whole.gpus(); ++gpu)
    gone[static_cast<std::size_t>(whole.gpu_node(gpu))] =
        std::find(ranks.begin(), ranks.end(), whole.rank(gpu)) == ranks.end();
  Reach trimmed;
  trimmed.machine = whole.machine.without(gone);
  trimmed.settings = whole.settings;
  trimmed.job = whole.job;
  trimmed.ranks = whole.ranks;
  if (auto error = trimmed.compute()) return *error;
  return trimmed;
}

}  // namespace

Result<JobReach> reach_of_job(const Machine& machine, const Settings& settings, const Job& job) {
  JobReach whole;
  whole.reach.machine = used_part(machine);
  whole.reach.settings = settings;
  whole.reach.job = job;
  whole.reach.ranks = job.nodes * whole.reach.gpus();
  if (auto error = check_ranks(whole.reach.machine, machine)) return *error;
  if (auto error = whole.reach.compute()) return *error;
  const std::vector<int> domain = domain_of_gpus(whole.reach);
  whole.domains = ranks_by_domain(whole.reach, domain);
  if (whole.domains.size() == 1) return whole;  // the second run would find the same
  auto trimmed = only_ranks(whole.reach, whole.domains.front());
  if (!trimmed) return trimmed.error();
  whole.before_trim = std::move(whole.reach);
  whole.reach = std::move(*trimmed);
  return whole;
}

Result<Reach> reach_of_domain(const JobReach& plan, int domain) {
  if (domain == 0 || !plan.before_trim) return plan.reach;
  return only_ranks(*plan.before_trim, plan.domains[static_cast<std::size_t>(domain)]);
}

}  // namespace comm_probe::nccl
