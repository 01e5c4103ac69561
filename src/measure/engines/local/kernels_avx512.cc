#include "measure/engines/local/kernel_sets.h"
#include "measure/engines/local/kernels_body.h"

namespace comm_probe::measure::local {

const Kernels& avx512_kernels() {
  static constexpr Kernels kSet = make_kernels("avx512");
  return kSet;
}

}  // namespace comm_probe::measure::local
