// Reach: a machine as one rank of an NCCL job sees it: who reaches whom, how, and how fast, after
// NCCL's policy has rewritten the raw paths of topology/ (NCCL 2.28.9 src/graph/paths.cc,
// ncclTopoComputePaths and ncclTopoTrimSystem). Indices are index-order positions among the GPUs,
// nets or CPUs of `machine`.
//
// In order, twice (before and after GPUs are left out that only the network reaches):
//   1 the paths of topology/paths.h
//   2 a GPU pair without P2P goes through the CPU; one that neither P2P nor shared memory may
//     serve counts as NET
//   3 a NIC beyond the chip-to-chip link of a GPU counts as P2C
//   4 a GPU sends to a far NIC by way of an NVLink neighbour that is near it (PXN); where
//     GPUDirect RDMA is not allowed, both ways go through the CPU
//
//   DGX H100, two nodes: GPU 0 -> NIC 1 is PXN, NIC 1 -> GPU 0 is PHB; NIC k belongs to GPU k.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/result.h"
#include "nccl/settings.h"
#include "topology/machine.h"
#include "topology/paths.h"

namespace comm_probe::nccl {

// What the job is and what its machines can do beside what the topology says.
struct Job {
  int nodes = 1;
  bool multicast = false;  // NVLink multicast (NVLS)
  bool driver_p2p = true;  // the driver reports P2P between all pairs
  bool collnet = false;    // collective offload by the network
  bool mnnvl = false;      // all hosts of the machine are one NVLink domain
  // GPUs of one host, by NVML index, lower first, between which the driver refuses to read or
  // write.
  std::set<std::pair<int, int>> refused = {};
};

// What the topology implies: multicast from NVSwitches and compute capability 9.0 on, P2P refused
// where no GPU has NVLink or GPUDirect RDMA (consumer GPUs), one NVLink domain where the file holds
// several hosts, no collective offload.
Job implied_job(const topology::Machine& machine);

class Reach {
 public:
  topology::Machine machine = {};
  topology::Paths paths = {};
  Settings settings = {};
  Job job = {};

  int gpus() const { return machine.count(topology::NodeType::kGpu); }
  int nets() const { return machine.count(topology::NodeType::kNet); }
  int cpus() const { return machine.count(topology::NodeType::kCpu); }
  int gpu_node(int gpu) const { return at(topology::NodeType::kGpu, gpu); }
  int net_node(int net) const { return at(topology::NodeType::kNet, net); }
  int cpu_node(int cpu) const { return at(topology::NodeType::kCpu, cpu); }
  const topology::Gpu& gpu(int gpu) const {
    return machine.node(gpu_node(gpu)).as<topology::Gpu>();
  }
  const topology::Net& net(int net) const {
    return machine.node(net_node(net)).as<topology::Net>();
  }
  int host_of_gpu(int gpu) const { return machine.node(gpu_node(gpu)).host; }
  int rank(int gpu) const { return this->gpu(gpu).rank.value_or(-1); }
  int sm(int gpu) const { return this->gpu(gpu).sm.value_or(0); }

  topology::Path gpu_to_gpu(int from, int to) const {
    return paths.path(gpu_node(from), gpu_node(to));
  }
  topology::Path gpu_to_net(int gpu, int net) const {
    return paths.path(gpu_node(gpu), net_node(net));
  }
  topology::Path net_to_gpu(int net, int gpu) const {
    return paths.path(net_node(net), gpu_node(gpu));
  }
  topology::Path gpu_to_cpu(int gpu, int cpu) const {
    return paths.path(gpu_node(gpu), cpu_node(cpu));
  }
  // The CPU with the fewest hops; 0 where none is reached.
  int cpu_of(int gpu) const { return cpu_of_[static_cast<std::size_t>(gpu)]; }
  // The first GPU on the way of a PXN path; the GPU itself on any other.
  int relay_to(int gpu, int net) const;
  // Ranks of the whole job exceed the GPUs of this machine.
  bool is_inter() const { return gpus() != ranks; }

  int ranks = 0;  // of the job

  // Steps 1 to 4 on `machine`. Fails where NCCL's own initialisation would.
  std::optional<core::Error> compute();

 private:
  int at(topology::NodeType type, int index) const {
    return machine.of(type)[static_cast<std::size_t>(index)];
  }
  std::optional<core::Error> reroute_peers();
  void mark_c2c();
  std::optional<core::Error> reroute_nets();
  std::optional<core::Error> relay_by_neighbour(int net, int gpu, int neighbour);
  bool neighbour_is_better(int net, int gpu, int neighbour) const;
  void send_through_cpu(int net, int gpu);

  std::vector<int> cpu_of_ = {};
};

// A machine as the job's ranks see it.
struct JobReach {
  Reach reach = {};                            // of local rank 0, without the other domains
  std::vector<std::vector<int>> domains = {};  // local ranks that reach each other without the net
  std::optional<Reach> before_trim = {};       // all GPUs; only where there are several domains
};

// GPUs without rank and nets without plugin index are left out first, as NCCL does. Fails where no
// GPU has a rank, where ranks are not 0 .. n-1, and where NCCL's own initialisation would fail.
core::Result<JobReach> reach_of_job(const topology::Machine& machine, const Settings& settings,
                                    const Job& job);

// The machine as the ranks of `plan.domains[domain]` see it.
core::Result<Reach> reach_of_domain(const JobReach& plan, int domain);

}  // namespace comm_probe::nccl
