#include "torch/match_lag.h"

#include <algorithm>
#include <cstdlib>

#include "core/check.h"

namespace comm_probe::torch {
namespace {

constexpr int kMostLag = 8;
constexpr std::int64_t kLeastTolerance = 50'000;  // ns

// Only where each rank moves the same amount are sizes equal on all of them.
bool has_one_size(CollectiveClass kind) {
  return kind == CollectiveClass::kAllReduce || kind == CollectiveClass::kAllGather ||
         kind == CollectiveClass::kReduceScatter || kind == CollectiveClass::kBroadcast ||
         kind == CollectiveClass::kReduce;
}

struct Score {
  double good = 0;
  int bad = 0;
  int distance = 0;  // |lag|

  bool better_than(const Score& other) const {
    if (good != other.good) return good > other.good;
    if (bad != other.bad) return bad < other.bad;
    return distance < other.distance;
  }
};

bool may_pair(const CommCall& one, const CommCall& other) {
  return agree(one, other) && (one.step < 0 || other.step < 0 || one.step == other.step);
}

Score score_of(const CallList& reference, const CallList& other, int lag, bool has_clock) {
  Score score{.distance = std::abs(lag)};
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // difference of ends, tolerance
  const auto size = static_cast<std::ptrdiff_t>(other.size());
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, -lag); i < size; ++i) {
    const auto at = static_cast<std::size_t>(i + lag);
    if (at >= reference.size()) break;
    const CommCall& one = *reference[at];
    const CommCall& two = *other[static_cast<std::size_t>(i)];
    if (!may_pair(one, two))
      ++score.bad;
    else
      pairs.emplace_back(two.end - one.end,
                         end_tolerance(std::min(one.duration(), two.duration())));
  }
  if (!has_clock) score.good = static_cast<double>(pairs.size());
  if (pairs.empty() || !has_clock) return score;
  std::vector<std::int64_t> differences;
  for (const auto& [difference, tolerance] : pairs) differences.push_back(difference);
  const std::int64_t offset = median_of(std::move(differences));
  for (const auto& [difference, tolerance] : pairs) {
    const double off = std::abs(static_cast<double>(difference - offset));
    score.good += std::max(0.0, 1 - off / static_cast<double>(tolerance));
  }
  return score;
}

}  // namespace

std::int64_t end_tolerance(std::int64_t shortest) { return std::max(kLeastTolerance, shortest); }

std::int64_t median_of(std::vector<std::int64_t> values) {
  COMM_PROBE_CHECK(!values.empty(), "median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool agree(const CommCall& one, const CommCall& other) {
  if (one.kind != other.kind) return false;
  if (one.dtype >= 0 && other.dtype >= 0 && one.dtype != other.dtype) return false;
  return !has_one_size(one.kind) || !one.bytes || !other.bytes || *one.bytes == *other.bytes;
}

int best_lag(const CallList& reference, const CallList& other, bool has_clock) {
  int best = 0;
  Score top = score_of(reference, other, 0, has_clock);
  for (int lag = -kMostLag; lag <= kMostLag; ++lag) {
    const Score score = score_of(reference, other, lag, has_clock);
    if (!score.better_than(top)) continue;
    top = score;
    best = lag;
  }
  return best;
}

}  // namespace comm_probe::torch
