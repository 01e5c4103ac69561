// What the kernels of cuda/all_reduce_check.cu are told besides the call (nvcc reads this, too).
#pragma once

#include <cstdint>

#include "measure/engines/cuda/all_reduce_call.h"

namespace comm_probe::measure::cuda {

struct CheckOrder {
  std::uint64_t seed;    // of the inputs, as they were filled
  std::uint32_t is_ring;  // sums begin at the rank of the slice and are rounded at each hop
};

}  // namespace comm_probe::measure::cuda
