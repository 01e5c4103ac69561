// What several ranks' traces say together, beyond who is late: calls that do not agree, a rank that
// is not among the given ones, clocks, and which conclusions are limited by what is missing.
//
//   trace.mismatch      one key, but operation, type or size differ
//   trace.late-outside  all given members wait alike, far above the best call of the same size
//   trace.clock-skew    clocks differ by more than 50 us: raw starts accuse the wrong rank
//   trace.entry-skew    ranks entered the window apart; counted for nobody
#pragma once

#include "diagnose/trace_late_set.h"
#include "diagnose/trace_rates.h"
#include "diagnose/trace_straggler.h"

namespace comm_probe::diagnose {

struct AcrossJudgement {
  std::vector<Straggler> stragglers = {};
  std::optional<LateSet> late_set = {};  // instead, where several are late alike
  std::vector<PricedRate> rates = {};
  Judgement judgement = {};
};

// Everything: stragglers, rates and the rules above.
AcrossJudgement judge_across(const torch::AcrossRanks& across, const RateReference& reference);

Judgement judge_meetings(const torch::AcrossRanks& across);
Judgement judge_outside(const torch::AcrossRanks& across);
Judgement judge_clocks(const torch::AcrossRanks& across);
std::vector<core::Caveat> across_caveats(const torch::AcrossRanks& across);

// Of 0..world-1, those that are not given; empty where the world is not known.
std::vector<int> missing_ranks(const torch::CommJob& job);

}  // namespace comm_probe::diagnose
