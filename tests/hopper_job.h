// Tuning inputs of Hopper nodes with 8 GPUs behind NVSwitch and Intel hosts, with default settings,
// for tests of NCCL's table and choice.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nccl/nccl.h"

namespace comm_probe::test {

inline nccl::GraphTraits graph(nccl::Pattern pattern, int channels, float rate) {
  nccl::GraphTraits traits;
  traits.pattern = pattern;
  traits.n_channels = channels;
  traits.bw_intra = traits.bw_inter = {rate};
  traits.type_intra = topology::PathType::kNvl;
  traits.type_inter = topology::PathType::kPix;
  return traits;
}

inline nccl::TuningJob hopper_job(int nodes, nccl::GraphTraits ring, nccl::GraphTraits tree) {
  nccl::TuningJob job;
  job.agreement.ring = ring;
  job.agreement.tree = tree;
  job.agreement.ranks = nodes * 8;
  job.agreement.nodes = nodes;
  job.agreement.most_local_ranks = 8;
  job.agreement.least_sm = job.agreement.most_sm = 90;
  job.agreement.cpu_arch = topology::Cpu::Arch::kX86;
  job.agreement.cpu_vendor = topology::Cpu::Vendor::kIntel;
  job.channels.coll = 16;
  job.settings.lists = nccl::default_method_lists();
  return job;
}

// An all_reduce of floats with the fastest protocol of the algorithm; 1e30 where there is none.
inline double best_us(const nccl::Tuning& tuning, nccl::Algorithm algorithm, std::uint64_t bytes) {
  double best = 1e30;
  for (const nccl::Protocol protocol : nccl::kAllProtocols)
    if (const auto candidate = nccl::candidate_of(tuning, {nccl::Function::kAllReduce, bytes / 4},
                                                  algorithm, protocol))
      best = std::min<double>(best, candidate->time.us);
  return best;
}

}  // namespace comm_probe::test
