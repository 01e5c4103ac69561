// What keeps communication from hiding behind computation, and what does it cost? One finding per
// cause, over all ranks that have it.
//
// The facts are those of torch/overlap_facts.h, the limits those of torch/killer_limits.h. The cost
// of a finding is that of its worst rank per step; from 1 % of the step on it is a warning, below
// it is information. A host that launches too slowly on fewer than half of the ranks is the
// straggler's cause (trace_straggler.h) and no killer.
//
// Worked example (tests/golden/trace): cases/02_item: trace.item-sync on ranks 0-3, 5 per step,
// 0.56 ms of 3.78 ms; cases/01_healthy: none, only the note about the last bucket.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "torch/overlap_facts.h"

namespace comm_probe::diagnose {

// One killer on one rank.
struct KillerUse {
  std::string id = {};  // of the finding
  int rank = 0;
  std::size_t count = 0;
  std::map<std::int64_t, std::size_t> per_step = {};  // by N of ProfilerStep#N, -1: outside
  torch::LostTime lost = {};                          // of the whole window
  std::int64_t saving = 0;  // what the cure would save, where that is not what was lost
  double share = 0;         // of the window: of the saving, else of what was lost
  bool warns = false;
  std::vector<torch::Interval> where = {};  // of the first thousand hits
};

struct KillerJudgement {
  Judgement judgement = {};
  std::vector<KillerUse> killers = {};  // by id in the order of the findings, then by rank
};
// `ranks`: by rank, each with its trace.
KillerJudgement judge_killers(const std::vector<torch::OverlapFacts>& ranks);

}  // namespace comm_probe::diagnose
