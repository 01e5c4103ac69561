#include "diagnose/trace_straggler.h"

#include <algorithm>

namespace comm_probe::diagnose {
namespace {

using torch::AcrossRanks;
using torch::RankWaits;

constexpr double kMostOfWaiting = 0.5;        // of all waiting, to be the one
constexpr double kWaitingThatMatters = 0.03;  // of the ranks' time
// Inspector logs show no time outside of collectives: the share of the time inside of them.
constexpr double kWaitingInCollectives = 0.1;
constexpr int kLeastMeetings = 3;
constexpr double kMostRejected = 0.3;  // of the meetings: no verdict beyond
constexpr double kClearlyMore = 0.02;  // of the compute time of the others
constexpr double kExplains = 0.5;      // of what it spent more than the others
constexpr double kShown = 0.5;         // of the margins, by the starts

std::int64_t part_of_time(const AcrossRanks& across, std::int64_t step) {
  std::int64_t sum = 0;
  for (const torch::RankActivity& rank : across.activities) sum += rank.span(step);
  return sum;
}

bool waiting_matters(const Straggler& one, const std::vector<RankWaits>& ranks) {
  const auto waiting = static_cast<double>(one.all_waiting);
  if (one.rank_time > 0) return waiting > kWaitingThatMatters * static_cast<double>(one.rank_time);
  std::int64_t inside = 0;
  for (const RankWaits& rank : ranks) inside += rank.wait + rank.transfer;
  return waiting > kWaitingInCollectives * static_cast<double>(inside);
}

bool same_kernels(const AcrossRanks& across, int rank, std::int64_t step) {
  const auto own = across.activities[static_cast<std::size_t>(rank)].work_in(step);
  for (std::size_t other = 0; other < across.activities.size(); ++other) {
    const auto theirs = across.activities[other].work_in(step);
    if (static_cast<int>(other) != rank && theirs.kernels == own.kernels &&
        theirs.names == own.names)
      return true;
  }
  return false;
}

// The durations call it late; do the starts? Where no call of the group came before, they are
// silent.
bool starts_agree(const torch::Lateness& why) {
  return why.margins == 0 ||
         static_cast<double>(why.arrival) > kShown * static_cast<double>(why.margins);
}

LateKind kind_of(const AcrossRanks& across, const Straggler& one) {
  const torch::WindowParts more = one.why.more();
  std::int64_t sum = 0;
  for (const std::int64_t part : {more.compute, more.idle, more.communication, more.memory})
    sum += std::max<std::int64_t>(0, part);
  const auto explains = [&](std::int64_t part) {
    return part > 0 && static_cast<double>(part) > kExplains * static_cast<double>(sum);
  };
  if (explains(more.compute) && static_cast<double>(more.compute) >
                                    kClearlyMore * static_cast<double>(one.why.typical.compute))
    return same_kernels(across, one.rank, one.step) ? LateKind::kSlowCompute : LateKind::kMoreWork;
  if (explains(more.idle)) return LateKind::kHost;
  if (explains(more.communication)) return LateKind::kUpstream;
  return explains(more.memory) ? LateKind::kMemory : LateKind::kUnknown;
}

// The rank that caused most, if the rule holds for it.
std::optional<Straggler> straggler_in(const AcrossRanks& across,
                                      const std::vector<RankWaits>& ranks, std::int64_t step) {
  std::optional<Straggler> most;
  std::int64_t all_waiting = 0;
  int meetings = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankWaits& waits = ranks[rank];
    all_waiting += waits.blamed;
    meetings += waits.last_in;
    Straggler one{.rank = static_cast<int>(rank), .step = step};
    one.caused = waits.caused;
    one.caused_excused = waits.caused_excused;
    one.blamed = waits.blamed;
    one.last_in = waits.last_in;
    one.meetings = waits.meetings;
    if (!most || one.blamed > most->blamed) most = one;
  }
  if (!most || meetings < kLeastMeetings) return std::nullopt;
  most->all_waiting = all_waiting;
  most->rank_time = part_of_time(across, step);
  const bool is_one =
      static_cast<double>(most->blamed) > kMostOfWaiting * static_cast<double>(all_waiting) &&
      waiting_matters(*most, ranks);
  if (!is_one) return std::nullopt;
  if (!across.traces.empty()) {
    most->why = torch::lateness_of(across.job, across.matching, across.waits, across.activities,
                                   most->rank, step);
    if (!starts_agree(most->why)) return std::nullopt;
    most->kind = kind_of(across, *most);
  }
  return most;
}

}  // namespace

const char* late_kind_name(LateKind kind) {
  switch (kind) {
    case LateKind::kSlowCompute:
      return "slow compute";
    case LateKind::kMoreWork:
      return "more work";
    case LateKind::kHost:
      return "host";
    case LateKind::kMemory:
      return "copies";
    case LateKind::kUpstream:
      return "upstream";
    case LateKind::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<Straggler> stragglers(const AcrossRanks& across) {
  std::vector<Straggler> all;
  if (across.job.ranks.size() < 2 || across.matching.rejected_share() > kMostRejected) return all;
  if (auto whole = straggler_in(across, across.waits.ranks, -1)) all.push_back(*whole);
  for (const auto& [step, ranks] : across.waits.steps)
    if (step >= 0)
      if (auto one = straggler_in(across, ranks, step)) all.push_back(*one);
  return all;
}

}  // namespace comm_probe::diagnose
