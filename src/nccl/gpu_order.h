// In which order does a search try the next GPU of a channel? By NCCL's whole-number scores: near
// the channel's NIC first or last, then the widest and shortest way from the GPU at hand; behind
// NVSwitches only the neighbours (NCCL 2.28.9 src/graph/search.cc, ncclTopoSearchNextGpuSort).
//
//   8 GPUs on NVSwitches, ring, from GPU 0: 7 is tried before 1
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/graph.h"
#include "nccl/search_ground.h"

namespace comm_probe::nccl {

// By the position in the channel, how the distance to the channel's NIC counts.
enum class NetSort : std::int8_t { kNone = 0, kNearFirst = 1, kNearLast = -1 };

// Where a channel stands.
struct NextGpu {
  int gpu = 0;
  NetSort sort = NetSort::kNone;
  int net = -1;  // where the channel starts
  Pattern pattern = Pattern::kRing;
  std::uint64_t channel_bit = 0;
};

class GpuOrder {
 public:
  explicit GpuOrder(SearchGround& ground);

  // Channels that use a GPU, one bit each.
  std::vector<std::uint64_t>& used() { return used_; }

  // Appends the GPUs to try next to `list`.
  void append(const NextGpu& next, std::vector<std::int16_t>& list);

 private:
  // A GPU in the order of all scores that do not change during a search.
  struct Place {
    std::int16_t gpu = 0;
    std::int32_t net_rate = 0;
    std::int32_t rate = 0;  // from the GPU at hand
    std::int16_t hops = 0;
  };
  struct Choice {
    std::int64_t score = 0;
    const Place* place = nullptr;
  };

  bool is_free(int gpu, std::uint64_t channel_bit) const {
    return (used_[static_cast<std::size_t>(gpu)] & channel_bit) == 0;
  }
  void append_neighbours(const NextGpu& next, std::vector<std::int16_t>& list);
  void append_by_net(const NextGpu& next, std::vector<std::int16_t>& list);
  void sort_by_score();
  // `net` -1: without regard to a net.
  const std::vector<Place>& places(int gpu, int net);
  std::vector<Place> make_places(int gpu, int net);

  SearchGround& ground_;
  std::vector<std::uint64_t> used_ = {};
  std::vector<std::vector<Place>> places_ = {};  // per net + 1 and GPU
  std::vector<Choice> choices_ = {};
};

}  // namespace comm_probe::nccl
