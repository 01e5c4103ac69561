#include "measure/engines/cuda/all_reduce_checker.h"

#include <algorithm>
#include <array>

namespace comm_probe::measure::cuda {
namespace {

using core::Result;

constexpr LaunchShape kFillShape = {.blocks = 64, .threads = 256};  // these wait for nobody

// Calls in one launch of the stress kernel, and how long a block is held up at most.
constexpr int kStressCalls = 20000;
constexpr std::uint32_t kLongestDelayNs = 3000;

}  // namespace

Result<AllReduceChecker> AllReduceChecker::make() {
  auto wrong = DeviceBuffer::make(core::Bytes::of(std::uint64_t{sizeof(std::uint64_t)}));
  if (!wrong) return wrong.error();
  return AllReduceChecker(std::move(*wrong));
}

Result<std::uint64_t> AllReduceChecker::wrong_elements(const AllReduceKernels& kernels,
                                                       const AllReduceLauncher& launcher,
                                                       const AllReduceWork& work,
                                                       std::uint64_t seed, int calls) const {
  std::uint64_t wrong = 0;
  if (const auto done = launcher.clear(wrong_.address(), sizeof wrong); !done) return done.error();
  if (const auto done = run_once(kernels, launcher, work, seed); !done) return done.error();
  if (const auto done = run_stress(launcher, work, seed << 32, calls - 1); !done)
    return done.error();
  if (const auto done = launcher.copy_to_host(&wrong, wrong_.address(), sizeof wrong); !done)
    return done.error();
  return wrong;
}

Result<bool> AllReduceChecker::run_once(const AllReduceKernels& kernels,
                                        const AllReduceLauncher& launcher,
                                        const AllReduceWork& work, std::uint64_t seed) const {
  const auto fill = kernels.fill(), check = kernels.check();
  if (!fill) return fill.error();
  if (!check) return check.error();
  AllReduceCall call = work.call;
  std::array<void*, 2> filled = {&call, &seed};
  if (const auto done = launcher.launch(*fill, kFillShape, filled); !done) return done.error();
  if (const auto done = launcher.launch(work); !done) return done.error();
  CheckOrder order = {.seed = seed, .is_ring = work.is_ring ? 1U : 0U};
  Address wrong = wrong_.address();
  std::array<void*, 3> checked = {&call, &order, &wrong};
  return launcher.launch(*check, kFillShape, checked);
}

Result<bool> AllReduceChecker::run_stress(const AllReduceLauncher& launcher,
                                          const AllReduceWork& work, std::uint64_t seed,
                                          int calls) const {
  AllReduceCall call = work.call;
  Address wrong = wrong_.address();
  const LaunchShape shape = {work.shape.blocks, kStressThreads};
  for (int done = 0; done < calls; done += kStressCalls) {
    StressOrder order = {.first_seed = seed + static_cast<std::uint64_t>(done),
                         .rounds = static_cast<std::uint32_t>(std::min(calls - done, kStressCalls)),
                         .is_ring = work.is_ring ? 1U : 0U,
                         .longest_delay_ns = kLongestDelayNs};
    std::array<void*, 3> parameters = {&call, &order, &wrong};
    if (const auto launched = launcher.launch(work.stress, shape, parameters); !launched)
      return launched.error();
  }
  return true;
}

}  // namespace comm_probe::measure::cuda
