#include "model/paired.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"

namespace comm_probe::model {
namespace {

constexpr std::size_t kLeastPairs = 4;
constexpr std::size_t kMostExact = 40;  // 2^40 sign patterns, counted as a distribution of sums
constexpr double kNormal95 = 1.959964;
constexpr std::size_t kMostPairs = 2000;  // of sizes; bounds the pair means to two million

struct SignedRanks {
  double positive = 0;             // sum of the ranks of positive differences
  std::vector<double> ranks = {};  // of all differences that are not zero, ties averaged
};

SignedRanks rank_differences(std::vector<double> differences) {
  std::erase(differences, 0.0);
  std::sort(differences.begin(), differences.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });
  SignedRanks result;
  for (std::size_t i = 0; i < differences.size();) {
    std::size_t end = i;
    while (end < differences.size() && std::abs(differences[end]) == std::abs(differences[i]))
      ++end;
    const double rank = static_cast<double>(i + end + 1) / 2;
    for (; i < end; ++i) {
      result.ranks.push_back(rank);
      if (differences[i] > 0) result.positive += rank;
    }
  }
  return result;
}

// Probability of each sum of ranks (in halves, because ties average) when every sign is a coin.
std::vector<double> sum_distribution(const std::vector<double>& ranks) {
  std::vector<double> chances = {1};
  for (const double rank : ranks) {
    const auto shift = static_cast<std::size_t>(std::llround(2 * rank));
    std::vector<double> next(chances.size() + shift, 0.0);
    for (std::size_t sum = 0; sum < chances.size(); ++sum) {
      next[sum] += chances[sum] / 2;
      next[sum + shift] += chances[sum] / 2;
    }
    chances = std::move(next);
  }
  return chances;
}

double two_sided_p(const SignedRanks& signed_ranks) {
  const auto& ranks = signed_ranks.ranks;
  if (ranks.empty()) return 1;
  double total = 0, squares = 0;
  for (const double rank : ranks) total += rank, squares += rank * rank;
  const double extreme = std::max(signed_ranks.positive, total - signed_ranks.positive);
  if (ranks.size() > kMostExact) {
    const double z = (extreme - total / 2 - 0.5) / std::sqrt(squares / 4);
    return std::min(1.0, std::erfc(std::max(z, 0.0) / std::sqrt(2.0)));
  }
  const auto chances = sum_distribution(ranks);
  double tail = 0;
  for (auto sum = static_cast<std::size_t>(std::llround(2 * extreme)); sum < chances.size(); ++sum)
    tail += chances[sum];
  return std::min(1.0, 2 * tail);
}

// How many of the sorted pair means lie outside the 95 % interval on each side.
std::size_t means_outside(std::size_t pairs) {
  std::vector<double> ranks;
  for (std::size_t i = 1; i <= pairs; ++i) ranks.push_back(static_cast<double>(i));
  if (pairs > kMostExact) {
    const double n = static_cast<double>(pairs);
    const double k = n * (n + 1) / 4 - kNormal95 * std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
    return static_cast<std::size_t>(std::max(0.0, std::floor(k)));
  }
  const auto chances = sum_distribution(ranks);
  double tail = 0;
  std::size_t outside = 0;
  for (std::size_t sum = 0; sum < chances.size(); sum += 2) {
    tail += chances[sum] + (sum + 1 < chances.size() ? chances[sum + 1] : 0);
    if (tail > 0.025) break;
    ++outside;
  }
  return outside;
}

std::vector<double> sorted_pair_means(const std::vector<double>& values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  std::sort(means.begin(), means.end());
  return means;
}

}  // namespace

std::optional<PairedTest> paired_test(std::span<const double> ratios) {
  std::vector<double> logs;
  const std::size_t stride = 1 + ratios.size() / kMostPairs;
  for (std::size_t i = 0; i < ratios.size(); i += stride) {
    COMM_PROBE_CHECK(ratios[i] > 0, "a ratio of times is not positive");
    logs.push_back(std::log(ratios[i]));
  }
  if (logs.size() < kLeastPairs) return std::nullopt;
  const auto means = sorted_pair_means(logs);
  // With few pairs even the widest interval holds less than 95 %; it is given as it is.
  const std::size_t outside = std::max<std::size_t>(1, means_outside(logs.size())) - 1;
  const std::size_t last = means.size() - 1;
  PairedTest test;
  test.pairs = static_cast<int>(logs.size());
  test.ratio = std::exp((means[last / 2] + means[means.size() / 2]) / 2);
  test.low = std::exp(means[outside]);
  test.high = std::exp(means[last - outside]);
  test.p = two_sided_p(rank_differences(logs));
  test.detectable = std::expm1((means[last - outside] - means[outside]) / 2);
  return test;
}

}  // namespace comm_probe::model
