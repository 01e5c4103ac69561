// Calls on known random data, and how many elements of the ranks of this process come out wrong
// (cuda/known_result.cuh says what is right).
#pragma once

#include "measure/engines/cuda/all_reduce_launcher.h"

namespace comm_probe::measure::cuda {

class AllReduceChecker {
 public:
  static core::Result<AllReduceChecker> make();

  // One call of the kernel that is timed; beyond the first, `calls` are those of the stress kernel,
  // in which nothing but the flags orders the ranks (cuda/all_reduce_stress.cu). All processes call
  // it with the same `seed`, each `seed` once.
  core::Result<std::uint64_t> wrong_elements(const AllReduceKernels& kernels,
                                             const AllReduceLauncher& launcher,
                                             const AllReduceWork& work, std::uint64_t seed,
                                             int calls) const;

 private:
  explicit AllReduceChecker(DeviceBuffer wrong) : wrong_(std::move(wrong)) {}
  core::Result<bool> run_once(const AllReduceKernels& kernels, const AllReduceLauncher& launcher,
                              const AllReduceWork& work, std::uint64_t seed) const;
  core::Result<bool> run_stress(const AllReduceLauncher& launcher, const AllReduceWork& work,
                                std::uint64_t seed, int calls) const;

  DeviceBuffer wrong_;  // one number
};

}  // namespace comm_probe::measure::cuda
