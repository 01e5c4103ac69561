// Is what `bench` measured right, and is it what the links of the machine make it?
//
// Wrong results and a rank that died are errors, whatever the times. A time further than 25 % from
// its prediction is named with the reason that the samples show: the flag latency changed by more
// than a factor of 1.5 between prediction and end, another process took the cores in every second
// sample, slowest and fastest sample differ by more than 1.5, or none of these: then the ledger
// lacks a term. One that is faster than predicted has none of these for a reason: the links were
// disturbed while they were measured.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "measure/measure.h"

namespace comm_probe::diagnose {

struct BenchJudgement {
  std::string verdict = {};
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};
};
BenchJudgement judge_bench(const measure::Run& run);
// Why a row with a prediction is further from it than 25 %, as bench.off-prediction says it.
std::string gap_reason(const measure::Run& run, const measure::Row& row);
// bench.rank-died or bench.rank-stopped, with its evidence and what to look at next.
core::Finding death_finding(const measure::RankDeath& died, std::string summary);

}  // namespace comm_probe::diagnose
