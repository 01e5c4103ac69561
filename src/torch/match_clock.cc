#include "torch/match_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "torch/match_lag.h"

namespace comm_probe::torch {
namespace {

struct Difference {
  std::int64_t time = 0;   // on the first clock
  std::int64_t value = 0;  // end_second - end_first
};
using Differences = std::map<std::pair<int, int>, std::vector<Difference>>;

constexpr std::int64_t kDriftShows = 2'000'000'000;  // ns of window
constexpr std::size_t kLeastForDrift = 12;           // meetings

// Of every pair of ranks that met; the first one of a meeting is the lower of each pair.
Differences differences_of(const CommJob& job, std::span<const Meeting> meetings,
                           bool only_accepted) {
  Differences all;
  for (const Meeting& meeting : meetings) {
    if (meeting.state == MeetingState::kOneSided) continue;
    if (only_accepted && meeting.state != MeetingState::kAccepted) continue;
    for (std::size_t i = 1; i < meeting.present.size(); ++i) {
      const Attendance& first = meeting.present.front();
      const Attendance& other = meeting.present[i];
      const std::int64_t end = call_of(job, first).end;
      all[{first.rank, other.rank}].push_back({end, call_of(job, other).end - end});
    }
  }
  return all;
}

// difference(t) = offset + drift * (t - origin)
struct Line {
  std::int64_t offset = 0;
  double drift = 0;
  std::int64_t residual = 0;
};

std::int64_t change(double drift, std::int64_t time, std::int64_t origin) {
  return static_cast<std::int64_t>(std::llround(drift * static_cast<double>(time - origin)));
}

// The median offset under a given drift, and the median distance from it.
Line line_with(const std::vector<Difference>& differences, double drift, std::int64_t origin) {
  std::vector<std::int64_t> values;
  values.reserve(differences.size());
  for (const Difference& one : differences)
    values.push_back(one.value - change(drift, one.time, origin));
  Line line{.offset = median_of(values), .drift = drift};
  for (std::int64_t& value : values) value = std::abs(value - line.offset);
  line.residual = median_of(std::move(values));
  return line;
}

// Medians of a third of the meetings.
Difference middle_of(std::span<const Difference> part) {
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> values;
  for (const Difference& one : part) {
    times.push_back(one.time);
    values.push_back(one.value);
  }
  return {median_of(std::move(times)), median_of(std::move(values))};
}

Line line_of(std::vector<Difference> differences, std::int64_t origin) {
  const Line level = line_with(differences, 0, origin);
  if (differences.size() < kLeastForDrift) return level;
  std::sort(differences.begin(), differences.end(),
            [](const Difference& one, const Difference& other) { return one.time < other.time; });
  if (differences.back().time - differences.front().time < kDriftShows) return level;
  const std::size_t third = differences.size() / 3;
  const Difference early = middle_of(std::span(differences).first(third));
  const Difference late = middle_of(std::span(differences).last(third));
  if (late.time <= early.time) return level;
  const double drift =
      static_cast<double>(late.value - early.value) / static_cast<double>(late.time - early.time);
  const Line sloped = line_with(differences, drift, origin);
  return sloped.residual * 2 < level.residual ? sloped : level;
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
  Chain(std::size_t ranks, std::int64_t grid, std::int64_t origin)
      : clocks_(ranks), known_(ranks, false), grid_(grid), origin_(origin) {
    for (std::size_t i = 0; i < ranks; ++i) {
      clocks_[i].rank = clocks_[i].reference = static_cast<int>(i);
      clocks_[i].origin = origin;
    }
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
    const Line line = line_of(best->second, origin_);
    to.reference = from.reference;
    to.offset = from.offset + (forward ? line.offset : -line.offset);
    to.drift = from.drift + (forward ? line.drift : -line.drift);
    to.residual = line.residual;
    to.meetings = best->second.size();
    to.error = from.error + error_of(to.residual, to.meetings, grid_);
    known_[static_cast<std::size_t>(to.rank)] = true;
    return true;
  }

  std::vector<ClockOffset> clocks_;
  std::vector<bool> known_;
  std::int64_t grid_;
  std::int64_t origin_;
};

// Any time of the job that all share; drifts turn around it.
std::int64_t origin_of(const CommJob& job) {
  for (const RankCalls& rank : job.ranks)
    if (!rank.calls.empty()) return rank.calls.front().end;
  return 0;
}

}  // namespace

std::vector<ClockOffset> align_clocks(const CommJob& job, std::span<const Meeting> meetings,
                                      bool only_accepted) {
  return Chain(job.ranks.size(), job.grid, origin_of(job))
      .close(differences_of(job, meetings, only_accepted));
}

std::int64_t ClockOffset::at(std::int64_t time) const {
  return offset + change(drift, time, origin);
}

}  // namespace comm_probe::torch
