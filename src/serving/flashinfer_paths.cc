#include "serving/flashinfer_paths.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::serving {
namespace {

constexpr int kMostTokens = 128;
constexpr double kMnnvlMost = 64.0 * 1024 * 8 * 2;
constexpr int kBlackwell = 100, kAfterBlackwell = 110;

// MB by ranks; 0: no such row.
double blackwell_megabytes(int ranks) {
  if (ranks == 2) return 512;
  if (ranks == 4) return 64;
  return ranks == 8 ? 42 : 0;
}

FlashInferAnswer over_nodes(const ServingJob& job) {
  const core::Bytes all = job.bytes * job.ranks;
  const core::Bytes most = core::Bytes::of(kMnnvlMost);
  return {all <= most, "mnnvl",
          fmt::format("{} over {} ranks against {}", core::format_bytes(all), job.ranks,
                      core::format_bytes(most))};
}

FlashInferAnswer in_node(const ServingJob& job, int tokens) {
  if (job.sm >= kBlackwell && job.sm < kAfterBlackwell) {
    const double megabytes = job.bytes.count() * 2 * job.ranks / 1e6;
    const double most = blackwell_megabytes(job.ranks);
    return {megabytes <= most, "trtllm",
            fmt::format("{:.3g} MB (size x 2 x ranks) against {:g} MB", megabytes, most)};
  }
  return {tokens <= kMostTokens, "trtllm",
          fmt::format("{} tokens against {}", tokens, kMostTokens)};
}

}  // namespace

FlashInferChoice flashinfer_choice(const ServingJob& job, int tokens) {
  if (job.is_amd) return {{}, "CUDA only"};
  if (!job.has_multicast) return {{}, "no NVSwitch with multicast"};
  if (job.nodes > 1) return {over_nodes(job), ""};
  if (blackwell_megabytes(job.ranks) == 0)
    return {{}, fmt::format("{} ranks, it wants 2, 4 or 8", job.ranks)};
  return {in_node(job, tokens), ""};
}

}  // namespace comm_probe::serving
