// What should a collective of the local engine cost on this machine? Pure arithmetic on what `link`
// has measured; nothing here is fitted to `bench`.
//
//   time = flags * alpha + sum over legs of (X(w) - alpha) + sum over relays of (M(w) - alpha)
//        + reduced * (R(w) - C(w)) / w + reduced_sent * (S(w) - C(w)) / w + copied * O(w) / w
//   alpha  X(8 B): both ranks post one line and wait for the other's
//   X(w)   exchange: both send w bytes through shared memory and receive w bytes
//   M(w)   relay: both receive w bytes, add their own, keep the sum and send it on
//   R, C   result = own + window, result = window: their difference is the cost of the additions
//   O      result = own
//   S      the same as R with own still in the caches, because it was just sent
//
// A leg is a message that the slowest rank sends and one that it receives; half a leg is only one
// of both. How many flags, legs and additions an algorithm has stands in local_prediction.cc, from
// engines/local. Not priced: more ranks than cores, because ranks then take turns.
//
// Worked example (tests/unit/measure/local_prediction_test.cc): alpha 0.2 us, X(1 KiB) = 0.7 us,
// S - C = 0.08 us: one-shot all_reduce of 1 KiB on 2 ranks is 0.2 + 0.5 + 0.08 = 0.78 us.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "measure/link/link.h"
#include "model/ledger.h"

namespace comm_probe::measure {

struct LocalCase {
  model::Collective collective = {};
  model::Algorithm algorithm = model::Algorithm::kOneShot;
  int cores = 2;  // that the ranks may run on
  bool is_in_place = false;
};

// Messages of the slowest rank that follow each other.
struct Leg {
  double count = 0;        // 0.5: only sent or only received
  core::Bytes bytes = {};  // of one message
  std::string what = {};   // "reduce_scatter"
};

// What one call makes the slowest rank do.
struct LocalWork {
  double flags = 0;  // that somebody waits for
  std::vector<Leg> legs = {};
  std::vector<Leg> relays = {};
  core::Bytes reduced = {};       // beside the relays
  core::Bytes reduced_sent = {};  // additions to what was just sent
  core::Bytes copied = {};        // own part, from buffer to buffer
  std::string flags_from = {};    // where the number of flags comes from
};

// Fails (nothing to do with input) where the engine has no such combination, or it cannot be
// priced; the message says why.
core::Result<LocalWork> local_work(const LocalCase& asked);
core::Result<model::Ledger> predict_local(const HostLinks& links, const LocalCase& asked);

}  // namespace comm_probe::measure
