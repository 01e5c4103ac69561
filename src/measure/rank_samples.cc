#include "measure/rank_samples.h"

#include <algorithm>

namespace comm_probe::measure {
namespace {

constexpr double kShortestBlock = 200e-6;
constexpr double kLongestBlock = 60e-3;
constexpr int kUsualIterations = 20;  // nccl-tests -n
constexpr int kMostIterations = 2000;

double over_ranks(const std::vector<double>& seconds, RankAverage average) {
  double sum = 0;
  for (const double value : seconds) sum += value;
  switch (average) {
    case RankAverage::kRankZero:
      return seconds.front();
    case RankAverage::kMean:
      return sum / static_cast<double>(seconds.size());
    case RankAverage::kMin:
      return *std::min_element(seconds.begin(), seconds.end());
    case RankAverage::kMax:
      return *std::max_element(seconds.begin(), seconds.end());
  }
  return seconds.front();
}

std::vector<double> blocks_of(const Plan& plan, const std::vector<RankSamples>& by_rank) {
  std::vector<double> blocks;
  for (std::size_t block = 0; block < static_cast<std::size_t>(plan.blocks); ++block) {
    std::vector<double> ranks;
    for (const RankSamples& rank : by_rank) ranks.push_back(rank.seconds[block]);
    blocks.push_back(over_ranks(ranks, plan.average));
  }
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

}  // namespace

Timing timing_of(const Plan& plan, const std::vector<RankSamples>& by_rank) {
  const std::vector<double> blocks = blocks_of(plan, by_rank);
  Timing timing;
  timing.time = core::Duration::from_seconds(blocks[blocks.size() / 2]);
  timing.fastest = core::Duration::from_seconds(blocks.front());
  timing.slowest = core::Duration::from_seconds(blocks.back());
  timing.iterations = by_rank.front().iterations;
  timing.streaming = by_rank.front().streaming;
  if (plan.check) timing.wrong = 0;
  for (const RankSamples& rank : by_rank) {
    timing.preemptions += rank.preemptions;
    if (plan.check) *timing.wrong += rank.wrong;
  }
  return timing;
}

int iterations_for(double seconds_per_call) {
  const double per_call = std::max(seconds_per_call, 1e-9);
  const double enough = std::max<double>(kUsualIterations, kShortestBlock / per_call);
  const double most = std::max(1.0, kLongestBlock / per_call);
  return static_cast<int>(std::min({enough, most, double{kMostIterations}}));
}

}  // namespace comm_probe::measure
