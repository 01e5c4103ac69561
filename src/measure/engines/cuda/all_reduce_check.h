// What the kernels of cuda/all_reduce_check.cu and cuda/all_reduce_stress.cu are told besides the
// call (nvcc reads this, too).
#pragma once

#include <cstdint>

#include "measure/engines/cuda/all_reduce_call.h"

namespace comm_probe::measure::cuda {

struct CheckOrder {
  std::uint64_t seed;     // of the inputs, as they were filled
  std::uint32_t is_ring;  // sums begin at the rank of the slice and are rounded at each hop
};

inline constexpr int kStressThreads = 256;

struct StressOrder {
  std::uint64_t first_seed;  // round r uses first_seed + r
  std::uint32_t rounds;
  std::uint32_t is_ring;
  std::uint32_t longest_delay_ns;  // 0: nobody is held up
};

}  // namespace comm_probe::measure::cuda
