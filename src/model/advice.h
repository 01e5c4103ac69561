// What helps on this side of the knee, and what does not, each with its number: in a latency ledger
// fewer steps, a smaller alpha and merging calls; in a bandwidth ledger fewer bytes and a faster
// link. Saving of a change = the time without it minus the time with it.
// Where nodes have links of two kinds, the saving of each kind changed alone is named, because it
// is bought alone (Ledger::by_place). Worked example: 8 ranks, 64 KiB, 10 us, 25 GB/s, ring: twice
// the bandwidth saves 2.294 us of 144.6 us, half the alpha saves 70 us.
#pragma once

#include <string>
#include <vector>

#include "model/ledger.h"

namespace comm_probe::model {

struct Savings {
  core::Duration half_alpha = {};
  core::Duration twice_beta = {};
  core::Duration per_merged_call = {};  // each further call of the same size that joins this one
};
Savings savings(const Ledger& ledger);

// Sentences for people; empty for a free operation.
std::vector<std::string> advice(const Ledger& ledger);

}  // namespace comm_probe::model
