#include "sim/what_if.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::sim {
namespace {

using core::Bytes;
using core::Duration;
using model::Network;
using model::Op;

// A message is cut into this many chunks at most: what is beyond changes the last digits only.
constexpr double kMostChunks = 4096;

core::Result<bool> check_rank(int rank, const WhatIf& what, const char* flag) {
  if (rank >= 0 && rank < what.collective.ranks) return true;
  return core::input_error(fmt::format("{} names rank {}, the ranks are 0 to {}", flag, rank,
                                       what.collective.ranks - 1));
}

Floors floors_of(const model::Collective& of, const Network& network) {
  std::vector<Unit> units;
  for (int rank = 0; rank < of.ranks; ++rank) units.push_back({1, network.most_of(rank)});
  return {bandwidth_floor(of, units), of.ranks < 2 ? Duration() : network.smallest_alpha()};
}

struct Clocks {
  Duration first = {}, last = {};
};

core::Result<Clocks> played(const WhatIf& what, const Network& network, bool is_late, Bytes chunk) {
  std::vector<Duration> begin(static_cast<std::size_t>(what.collective.ranks));
  if (is_late)
    for (const LateRank& late : what.late) {
      Duration& at = begin[static_cast<std::size_t>(late.rank)];
      at = std::max(at, late.by);
    }
  model::Recurrence ranks(network, begin);
  const auto done =
      model::play(what.collective, {.algorithm = what.algorithm, .chunk = chunk}, network, ranks);
  if (!done) return done.error();
  Clocks clocks{ranks.ready(0), ranks.finished()};
  for (int rank = 1; rank < what.collective.ranks; ++rank)
    clocks.first = std::min(clocks.first, ranks.ready(rank));
  return clocks;
}

}  // namespace

core::Result<bool> check_what(const WhatIf& what) {
  if (what.collective.ranks > kMostPlayedRanks)
    return core::input_error(fmt::format("{} ranks are more than the {} that are played",
                                         what.collective.ranks, kMostPlayedRanks),
                             "`calc` prices any number of ranks on links that are alike");
  for (const model::SlowLink& link : what.slow) {
    if (auto found = check_rank(link.a, what, "--slow-link"); !found) return found;
    if (link.b != model::kAnyRank)
      if (auto found = check_rank(link.b, what, "--slow-link"); !found) return found;
    if (link.a == link.b)
      return core::input_error(fmt::format("--slow-link {0}:{0} is no link", link.a));
    if (!(link.factor > 0 && link.factor <= 1))
      return core::input_error(
          fmt::format("a slow link has {} times its bandwidth, expected more than 0 and at most 1",
                      link.factor),
          "half the bandwidth is 0.5");
  }
  for (const LateRank& late : what.late)
    if (auto found = check_rank(late.rank, what, "--late"); !found) return found;
  return true;
}

core::Result<Outcome> play(const WhatIf& what) {
  const auto closed = model::price(what.collective, {what.algorithm}, what.fabric);
  if (!closed) return closed.error();
  if (const auto checked = check_what(what); !checked) return checked.error();
  const model::Crossing crossing = model::crossing_of(what.algorithm);
  const Network unlike(what.collective.ranks, what.fabric, crossing, what.slow);
  const Network alike(what.collective.ranks, what.fabric, crossing, {});
  Outcome outcome;
  outcome.closed_form = *closed;
  outcome.floors = floors_of(what.collective, unlike);
  outcome.chunk = std::max(Bytes::of(model::kPipelineChunk), what.collective.bytes / kMostChunks);
  const bool has_slow = !what.slow.empty(), has_late = !what.late.empty();
  const auto run = [&](bool is_slow, bool is_late) {
    return played(what, is_slow ? unlike : alike, is_late, outcome.chunk);
  };
  const auto all = run(has_slow, has_late);
  if (!all) return all.error();
  outcome.time = all->last;
  outcome.first_rank = all->first;
  outcome.alike = has_slow || has_late ? run(false, false)->last : outcome.time;
  if (has_slow && has_late) {
    outcome.without_slow = run(false, true)->last;
    outcome.without_late = run(true, false)->last;
  } else if (has_slow) {
    outcome.without_slow = outcome.alike;
  } else if (has_late) {
    outcome.without_late = outcome.alike;
  }
  for (const LateRank& late : what.late) outcome.last_late = std::max(outcome.last_late, late.by);
  check_floors(outcome.time, outcome.floors);
  return outcome;
}

}  // namespace comm_probe::sim
