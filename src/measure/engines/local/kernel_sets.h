// The three compilations of kernels_body.h; CMakeLists.txt gives each file its instruction set.
#pragma once

#include "measure/engines/local/kernels.h"

namespace comm_probe::measure::local {

const Kernels& baseline_kernels();
const Kernels& avx2_kernels();    // x86-64 only: the caller asks the processor first
const Kernels& avx512_kernels();  // the same; needs F, BW, DQ and VL

}  // namespace comm_probe::measure::local
