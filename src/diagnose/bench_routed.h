// Did a routed all_to_all bring every token back, and is the scheme that was predicted to be faster
// the one that was?
#pragma once

#include "diagnose/bench.h"
#include "measure/routed/routed.h"

namespace comm_probe::diagnose {

// Schemes whose times differ by less than this share have no order.
inline constexpr double kSameTime = 0.05;
// Slowest over fastest sample from which a column of times says nothing.
inline constexpr double kVoidSpread = 10;

BenchJudgement judge_routed(const measure::RoutedRun& run);

}  // namespace comm_probe::diagnose
