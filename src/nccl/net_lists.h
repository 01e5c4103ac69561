// Which nets may a channel start from or return to, and in which order are they tried? First the
// ones that NCCL gives the GPU (net_choice.h), then any other within the allowed path type, nearest
// first (NCCL 2.28.9 src/graph/search.cc, ncclTopoSelectNets).
//
//   8 GPUs with one PIX net each: the list of all GPUs is net 0 .. 7
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "nccl/net_choice.h"

namespace comm_probe::nccl {

class NetLists {
 public:
  explicit NetLists(const Reach& reach);

  // Each list is made once.
  const std::vector<int>& of_gpu(int gpu, topology::PathType farthest);
  const std::vector<int>& of_all(topology::PathType farthest) { return list(all_, farthest); }

  std::optional<int> start_gpu(int net) { return choice_.gpu_of(net); }
  const std::vector<int>& near_gpus(int net) { return choice_.gpus_of(net); }

 private:
  struct Draft;
  const std::vector<int>& list(int slot, topology::PathType farthest);
  std::vector<int> make(int slot, topology::PathType farthest);
  void add_preferred(Draft& draft);
  void add_scattered(Draft& draft);
  void add_others(Draft& draft, topology::PathType farthest) const;
  std::size_t most_of(std::size_t gpus) const;

  const Reach& reach_;
  NetChoice choice_;
  int all_;  // the slot of the list for all GPUs
  std::array<std::vector<std::optional<std::vector<int>>>, topology::kPathTypes> known_ = {};
};

}  // namespace comm_probe::nccl
