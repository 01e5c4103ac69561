#include "torch/match_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "torch/match_lag.h"

namespace comm_probe::torch {
namespace {

using Differences = std::map<std::pair<int, int>, std::vector<std::int64_t>>;

// end_second - end_first of every pair of ranks that met, the first one of a meeting being the
// lower of each pair.
Differences differences_of(const CommJob& job, std::span<const Meeting> meetings,
                           bool only_accepted) {
  Differences all;
  for (const Meeting& meeting : meetings) {
    if (meeting.state == MeetingState::kOneSided) continue;
    if (only_accepted && meeting.state != MeetingState::kAccepted) continue;
    for (std::size_t i = 1; i < meeting.present.size(); ++i) {
      const Attendance& first = meeting.present.front();
      const Attendance& other = meeting.present[i];
      all[{first.rank, other.rank}].push_back(call_of(job, other).end - call_of(job, first).end);
    }
  }
  return all;
}

std::int64_t median_distance(const std::vector<std::int64_t>& values, std::int64_t from) {
  std::vector<std::int64_t> distances;
  distances.reserve(values.size());
  for (const std::int64_t value : values) distances.push_back(std::abs(value - from));
  return median_of(std::move(distances));
}

// 95 % of a median of n values whose median distance from it is `residual`: 1.96 standard errors,
// sigma = 1.4826 residuals, a median's error 1.2533 times that of a mean (normal distribution).
std::int64_t error_of(std::int64_t residual, std::size_t count, std::int64_t grid) {
  constexpr double kFactor = 1.96 * 1.4826 * 1.2533;
  const double error =
      kFactor * static_cast<double>(residual) / std::sqrt(static_cast<double>(count));
  return std::max(grid, static_cast<std::int64_t>(std::llround(error)));
}

class Chain {
 public:
  Chain(std::size_t ranks, std::int64_t grid) : clocks_(ranks), known_(ranks, false), grid_(grid) {
    for (std::size_t i = 0; i < ranks; ++i)
      clocks_[i].rank = clocks_[i].reference = static_cast<int>(i);
  }

  std::vector<ClockOffset> close(const Differences& differences) {
    for (std::size_t root = 0; root < clocks_.size(); ++root) {
      if (known_[root]) continue;
      known_[root] = true;
      while (extend(differences)) {
      }
    }
    return std::move(clocks_);
  }

 private:
  bool is_known(int rank) const { return known_[static_cast<std::size_t>(rank)]; }

  // Takes in the rank that met a known one most often; false where there is none.
  bool extend(const Differences& differences) {
    const Differences::value_type* best = nullptr;
    for (const auto& pair : differences)
      if (is_known(pair.first.first) != is_known(pair.first.second) &&
          (best == nullptr || pair.second.size() > best->second.size()))
        best = &pair;
    if (best == nullptr) return false;
    const auto [first, second] = best->first;
    const bool forward = is_known(first);
    const ClockOffset& from = clocks_[static_cast<std::size_t>(forward ? first : second)];
    ClockOffset& to = clocks_[static_cast<std::size_t>(forward ? second : first)];
    const std::int64_t median = median_of(best->second);
    to.reference = from.reference;
    to.offset = from.offset + (forward ? median : -median);
    to.residual = median_distance(best->second, median);
    to.meetings = best->second.size();
    to.error = from.error + error_of(to.residual, to.meetings, grid_);
    known_[static_cast<std::size_t>(to.rank)] = true;
    return true;
  }

  std::vector<ClockOffset> clocks_;
  std::vector<bool> known_;
  std::int64_t grid_;
};

}  // namespace

std::vector<ClockOffset> align_clocks(const CommJob& job, std::span<const Meeting> meetings,
                                      bool only_accepted) {
  return Chain(job.ranks.size(), job.grid).close(differences_of(job, meetings, only_accepted));
}

}  // namespace comm_probe::torch
