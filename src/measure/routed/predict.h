// How long should dispatch and combine of a routed all_to_all take? The stages one after the other,
// each
//   alpha + the slower of
//     NIC     bytes of the rank that sends or receives most between nodes / the limit
//     moving  bytes of all ranks x what a byte costs on these cores
// Nothing is fitted to the routing in question. Alpha is a stage with no bytes, a byte costs what
// an even routing took beyond alpha, flat and without a limit; both are measured right before.
//
// Worked example (tests/unit/measure/routed_test.cc): 8 MB of the fullest rank at 100 MB/s and 40
// MB of all at 1 ns per byte, alpha 2 ms: 2 + max(80, 40) = 82 ms.
#pragma once

#include "measure/routed/routed.h"

namespace comm_probe::measure {

// In seconds: of a stage, and per byte of all ranks.
struct StageCost {
  double alpha = 0;
  double per_byte = 0;
};
struct RoutedCost {
  StageCost dispatch = {};
  StageCost combine = {};
};
// Of the medians, and as far as the samples went to both sides: other work on the cores moves all
// that is predicted from them.
struct RoutedCosts {
  RoutedCost median = {};
  RoutedCost least = {};
  RoutedCost most = {};
};
RoutedCosts routed_costs(const RoutedRow& empty, const RoutedRow& even);

// Fills bytes and predicted times of the row.
void predict(const RoutedStages& stages, const RoutedShape& shape, core::Bandwidth nic,
             const RoutedCosts& costs, RoutedRow& row);

// What the limit alone makes of one repetition, flat and with dedup: it takes at least that long.
core::Duration limited_time(const RoutedPlan& plan);
// A slow limit makes a repetition long, and no more exact by repeating it: takes as many off as do
// not fit into `time`, down to one without a warm-up.
void fit_repetitions(core::Duration time, RoutedPlan& plan);

// The samples of all ranks of one case, the slowest rank of every block.
struct RoutedSamples {
  std::vector<double> dispatch = {};
  std::vector<double> combine = {};
};
RoutedRow row_of(const RoutedStages& stages, const RoutedSamples& samples,
                 const RoutedCheck& check);

}  // namespace comm_probe::measure
