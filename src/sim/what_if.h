// One collective on unlike links with late ranks, and what each change costs.
//
// Floors, below which no algorithm of messages can be (model/recurrence.h cannot fall below them
// either: an outcome that does ends the program as an error of ours):
//   bandwidth  all_reduce: 2(n-1) S bytes must leave ranks in all, and S must leave and enter each;
//              all_gather, reduce_scatter, all_to_all: (n-1)/n S enters or leaves each rank;
//              broadcast, reduce, send_recv: S enters or leaves one. Over the fastest link of each.
//   latency    what a rank knows reaches one other rank at least: the smallest alpha, once.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/result.h"
#include "model/closed_form.h"
#include "model/network.h"
#include "model/schedules.h"

namespace comm_probe::sim {

struct LateRank {
  int rank = 0;
  core::Duration by = {};
};

struct WhatIf {
  model::Collective collective = {};
  model::Algorithm algorithm = model::Algorithm::kRing;
  model::Fabric fabric = {};
  std::vector<model::SlowLink> slow = {};
  std::vector<LateRank> late = {};
};

struct Floors {
  core::Duration bandwidth = {};
  core::Duration latency = {};
  core::Duration both() const { return std::max(bandwidth, latency); }
};

struct Outcome {
  // From time 0, when the ranks that are not late begin, until the last rank has finished.
  core::Duration time = {};
  core::Duration first_rank = {};  // the first one has finished
  core::Duration alike = {};       // without slow links and late ranks
  std::optional<core::Duration> without_slow = {}, without_late = {};
  core::Duration last_late = {};  // how late the latest rank is
  core::Bytes chunk = {};         // of chains and trees
  model::Ledger closed_form = {};
  Floors floors = {};
};

// Refuses ranks that do not exist, factors outside (0, 1], more ranks than kMostPlayedRanks, and
// what play() and the closed form refuse.
core::Result<Outcome> play(const WhatIf& what);

// Above this the memory of the clocks is no bother, but a ring would take minutes.
inline constexpr int kMostPlayedRanks = 1 << 17;

}  // namespace comm_probe::sim
