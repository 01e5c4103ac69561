// One collective on unlike links with late ranks, and what each change costs.
#pragma once

#include <optional>
#include <vector>

#include "core/result.h"
#include "model/closed_form.h"
#include "model/network.h"
#include "model/schedules.h"
#include "sim/floors.h"

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

// Refuses more ranks than kMostPlayedRanks, changes of ranks that do not exist, links of a rank to
// itself, factors outside (0, 1].
core::Result<bool> check_what(const WhatIf& what);

// Refuses ranks that do not exist, factors outside (0, 1], more ranks than kMostPlayedRanks, and
// what play() and the closed form refuse.
core::Result<Outcome> play(const WhatIf& what);

// Above this the memory of the clocks is no bother, but a ring would take minutes.
inline constexpr int kMostPlayedRanks = 1 << 17;

}  // namespace comm_probe::sim
