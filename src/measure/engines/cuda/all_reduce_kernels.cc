#include "measure/engines/cuda/all_reduce_kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::measure::cuda {
namespace {

using model::Algorithm;

constexpr std::uint64_t kFewThreads = 128;
constexpr std::uint64_t kEnoughBlocks = 16;

// What a rank works on at a time.
std::uint64_t part_bytes(const ShapeRequest& request) {
  const auto ranks = static_cast<std::uint64_t>(request.ranks);
  return request.algorithm == Algorithm::kOneShot ? request.bytes : request.bytes / ranks;
}

const char* word_of(Algorithm algorithm) {
  if (algorithm == Algorithm::kOneShot) return "one_shot";
  return algorithm == Algorithm::kTwoShot ? "two_shot" : "ring";
}

}  // namespace

core::Result<LaunchShape> shape_for(const ShapeRequest& request) {
  const std::uint64_t possible = request.resident / static_cast<unsigned>(request.ranks_here);
  if (possible == 0)
    return core::missing_error(
        fmt::format("{} ranks do not fit one GPU: it runs {} blocks of {} threads at a time, and "
                    "blocks of ranks wait for each other",
                    request.ranks_here, request.resident, kMostThreads),
        "use fewer ranks");
  const std::uint64_t packs = (part_bytes(request) + kPackBytes - 1) / kPackBytes;
  std::uint64_t threads = kFewThreads;
  while (threads < kMostThreads && packs > threads * kEnoughBlocks) threads *= 2;
  const std::uint64_t apart = request.multiprocessors / static_cast<unsigned>(request.ranks_here);
  const std::uint64_t most =
      std::min({possible, std::max(apart, kEnoughBlocks), static_cast<std::uint64_t>(kMostBlocks)});
  const std::uint64_t blocks = std::clamp<std::uint64_t>((packs + threads - 1) / threads, 1, most);
  return LaunchShape{static_cast<unsigned>(blocks), static_cast<unsigned>(threads)};
}

std::string kernel_name(Algorithm algorithm, Element element, int ranks) {
  if (algorithm == Algorithm::kRing)
    return fmt::format("all_reduce_ring_{}", element_name(element));
  return fmt::format("all_reduce_{}_{}_{}", word_of(algorithm), element_name(element),
                     (ranks + 1) / 2 * 2);
}

core::Result<AllReduceKernels> AllReduceKernels::load(Element element, int ranks) {
  auto reduce = Module::load("all_reduce");
  if (!reduce) return reduce.error();
  auto check = Module::load("all_reduce_check");
  if (!check) return check.error();
  auto stress = Module::load("all_reduce_stress");
  if (!stress) return stress.error();
  return AllReduceKernels(std::move(*reduce), std::move(*check), std::move(*stress), element,
                          ranks);
}

core::Result<FunctionHandle> AllReduceKernels::of(Algorithm algorithm) const {
  return reduce_.function(kernel_name(algorithm, element_, ranks_).c_str());
}
core::Result<FunctionHandle> AllReduceKernels::waits(Algorithm algorithm) const {
  return reduce_.function(fmt::format("all_reduce_waits_{}", word_of(algorithm)).c_str());
}
core::Result<FunctionHandle> AllReduceKernels::fill() const {
  return check_.function(fmt::format("fill_{}", element_name(element_)).c_str());
}
core::Result<FunctionHandle> AllReduceKernels::check() const {
  return check_.function(fmt::format("check_{}", element_name(element_)).c_str());
}

core::Result<FunctionHandle> AllReduceKernels::stress(Algorithm algorithm) const {
  return stress_.function(
      fmt::format("stress_{}_{}", word_of(algorithm), element_name(element_)).c_str());
}

core::Result<unsigned> resident_blocks(FunctionHandle kernel, int threads, const Context& context) {
  int per_multiprocessor = 0;
  if (const auto status = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor,
                                                                               kernel, threads, 0);
      !status)
    return status.error();
  return static_cast<unsigned>(per_multiprocessor * context.attribute(kMultiprocessors));
}

}  // namespace comm_probe::measure::cuda
