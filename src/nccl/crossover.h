// At which size does NCCL change its mind? The exact first size of each choice within a range, by
// bisection between neighbouring sizes of a sweep; what lies between two sizes with the same choice
// is not looked at.
//
//   DGX H100, two nodes, all_reduce: Tree LL, then Tree LL128, then NVLSTree Simple
#pragma once

#include <vector>

#include "nccl/choice.h"

namespace comm_probe::nccl {

struct Crossover {
  std::uint64_t bytes = 0;  // the first size of `to`
  Candidate from = {};      // what would have been taken one element before
  Candidate to = {};
};
// `sizes` ascending; function, type and reduction are those of `call`.
std::vector<Crossover> crossovers(const Tuning& tuning, const Call& call,
                                  const std::vector<std::uint64_t>& sizes);

// The best that one setting would leave.
struct Forced {
  Candidate candidate = {};
  double ratio = 1;             // time over that of the choice
  bool is_latency_paid = true;  // the larger part of the difference are steps, else bytes
};
std::optional<Forced> forced(const Choice& choice, Algorithm algorithm);
std::optional<Forced> forced(const Choice& choice, Protocol protocol);
// Of `candidate` against the choice.
Forced compared(const Choice& choice, const Candidate& candidate);

}  // namespace comm_probe::nccl
