// Do some ranks together make the others wait? All ranks of a slow host are late alike, and who of
// them is last is chance: no single one of them is the straggler.
//
// A set of two or more, at most half of the ranks, below the widest gap of what the ranks waited:
// each of them waits less than a quarter of what any other rank does; together they are behind more
// than 80 % of all waiting, and waiting is more than 3 % of the ranks' time. Why: medians of the
// set's compute and idle time beside those of the others.
//
// Worked example (tests/unit/diagnose/trace_late_set_test.cc): ranks 2 and 3 of four take turns in
// coming 300 us late: the set is {2, 3}.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/trace_straggler.h"

namespace comm_probe::diagnose {

struct LateSet {
  std::vector<int> ranks = {};   // indices in CommJob::ranks
  std::int64_t blamed = 0;       // ns of waiting
  std::int64_t all_waiting = 0;  // without what was before the window
  std::int64_t rank_time = 0;    // spans of all ranks; 0: not known
  LateKind kind = LateKind::kUnknown;
  torch::WindowParts more = {};  // medians of the set less those of the others
  double compute_share = 0;      // more.compute over the others' compute
};

std::optional<LateSet> late_set(const torch::AcrossRanks& across);

// trace.straggler with all of its ranks.
Judgement judge_late_set(const torch::AcrossRanks& across, const LateSet& set);

}  // namespace comm_probe::diagnose
