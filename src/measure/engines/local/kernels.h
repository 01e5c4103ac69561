// The inner loops: copying and reducing, compiled once per instruction set (baseline, AVX2,
// AVX-512) and chosen once at start by what the processor says it can do.
//
// Every reduction is elementwise, dst[i] = a[i] op b[i], with `a` the operand of the lower rank, so
// that all ranks that reduce the same operands in the same order get the same bits. dst may be a or
// b; `dst2`, where not null, receives the same values. avg reduces as sum; `scale` divides at the
// end.
#pragma once

#include <cstddef>

#include "measure/element.h"

namespace comm_probe::measure::local {

using CopyLoop = void (*)(std::byte* dst, const std::byte* src, std::size_t bytes);
using ReduceLoop = void (*)(void* dst, void* dst2, const void* a, const void* b, std::size_t count);
using ScaleLoop = void (*)(void* data, std::size_t count, int ranks);

struct Kernels {
  const char* instruction_set;  // "avx512", "avx2", "baseline"
  CopyLoop copy;
  // The same with stores that do not read the destination into the cache first.
  CopyLoop copy_streaming;
  ReduceLoop reduce[6][5];  // [Element][Reduction]
  ScaleLoop scale[6];

  ReduceLoop reduction(Element element, Reduction op) const {
    return reduce[static_cast<int>(element)][static_cast<int>(op)];
  }
};

// The best that this processor runs.
const Kernels& kernels();
// All that this processor runs, baseline first (tests compare them).
struct KernelSets {
  const Kernels* sets[3];
  int count;
};
KernelSets runnable_kernels();

}  // namespace comm_probe::measure::local
