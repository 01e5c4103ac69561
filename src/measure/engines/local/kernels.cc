#include "measure/engines/local/kernels.h"

#include "measure/engines/local/kernel_sets.h"

namespace comm_probe::measure::local {

KernelSets runnable_kernels() {
  KernelSets found = {{&baseline_kernels(), nullptr, nullptr}, 1};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.sets[found.count++] = &avx2_kernels();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found.sets[found.count++] = &avx512_kernels();
#endif
  return found;
}

const Kernels& kernels() {
  static const KernelSets found = runnable_kernels();
  return *found.sets[found.count - 1];
}

}  // namespace comm_probe::measure::local
