// Algorithms side by side, and the sizes at which one overtakes the other. Every prediction is a
// straight line T(S) = L + k*S, so a crossover is solved, not searched: S = (L2 - L1) / (k1 - k2).
// Worked example: all_reduce, 8 ranks, 10 us, 25 GB/s: double-tree (60 us, 2S) and ring (140 us,
// 1.75S) cross at 80 us * 25 GB/s / 0.25 = 8 MB.
#pragma once

#include <optional>
#include <vector>

#include "model/closed_form.h"

namespace comm_probe::model {

// `below` is faster for smaller messages, `above` for larger ones; equal at `size`.
struct Crossover {
  Method below = {};
  Method above = {};
  core::Bytes size = {};
};

// `fastest` of all compared from `from` up to `to` (nothing: without end).
struct Stretch {
  Method fastest = {};
  core::Bytes from = {};
  std::optional<core::Bytes> to = {};
};

struct Comparison {
  std::vector<Ledger> ledgers = {};        // at the size asked for, in the order asked for
  std::vector<Crossover> crossovers = {};  // of every pair that has one, by size
  std::vector<Stretch> stretches = {};     // cover all sizes
};

// Fails where one of the methods cannot be priced. At least one method.
core::Result<Comparison> compare(const Collective& collective, const std::vector<Method>& methods,
                                 const Fabric& fabric);

}  // namespace comm_probe::model
