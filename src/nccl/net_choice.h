// Which NIC does NCCL give a GPU, and which GPU a NIC? The widest path counts first, then the
// nearest; several equal ones are shared out by NVML index (NCCL 2.28.9 src/graph/topo.cc,
// ncclTopoGetLocal, ncclTopoGetLocalNet, ncclTopoGetLocalGpu; src/graph/search.cc,
// ncclTopoGetNetDev).
//
//   i = bits of NVML index mirrored (where the number of nets is a power of two)
//       + channel mod nets per GPU;   net = nets[i mod number of nets]
//   4 equal nets: GPU 0 -> net 0, 1 -> 2, 2 -> 1, 3 -> 3
#pragma once

#include <optional>
#include <vector>

#include "nccl/reach.h"

namespace comm_probe::nccl {

class NetChoice {
 public:
  explicit NetChoice(const Reach& reach);

  // Widest, then nearest nets of a GPU, in index order; all where none is reached.
  const std::vector<int>& nets_of(int gpu);
  const std::vector<int>& gpus_of(int net);
  // Nothing where there is no net.
  std::optional<int> net_of(int gpu, int channel);
  // The GPU that a search starts from for this net; nothing where no GPU takes it.
  std::optional<int> gpu_of(int net);

  // After a path between them has changed.
  void forget(int gpu, int net);

 private:
  struct Answer {
    long version = -1;
    std::optional<int> gpu = {};
  };
  int nets_per_gpu(const std::vector<int>& nets);

  const Reach& reach_;
  long version_ = 0;
  std::vector<std::optional<std::vector<int>>> nets_of_ = {};
  std::vector<std::optional<std::vector<int>>> gpus_of_ = {};
  std::vector<Answer> gpu_of_ = {};
};

// The NIC of a send outside collectives and the GPU whose rank drives it (PXN).
struct PeerNet {
  int net = 0;
  int gpu = 0;
};
// `peer_dev` is the NVML index of the peer on another node, channel 0.
std::optional<PeerNet> net_to_peer(const Reach& reach, NetChoice& choice, int gpu, int peer_dev);

}  // namespace comm_probe::nccl
