// How fast did the collectives of a job move their bytes? By group, operation and size.
//
//   algbw = S / t      busbw = algbw x f, f = 2(n-1)/n all_reduce, (n-1)/n all_gather,
//   reduce_scatter, all_to_all, gather, scatter, 1 broadcast, reduce, send, recv (golden G1-05..07)
// t is the transfer (waits.h) where at least two ranks are given; else the rank's own kernel,
// waiting included: a lower bound of the bandwidth. GB is 10^9 bytes.
//
// Worked example (tests/unit/torch/rates_test.cc): all_reduce of 26214400 B on 4 ranks in 260 us:
// 100.82 GB/s algbw, 151.24 GB/s busbw.
#pragma once

#include <optional>
#include <vector>

#include "core/quantity.h"
#include "model/collective.h"
#include "torch/waits.h"

namespace comm_probe::torch {

// All calls of one size of one operation in one group.
struct Rate {
  int group = 0;
  CollectiveClass kind = CollectiveClass::kUnknown;
  std::optional<std::uint64_t> bytes = {};
  int dtype = -1;
  int ranks = 0;  // of the group; of those present where the group is not recorded
  std::size_t count = 0;
  std::int64_t best = 0;  // ns
  std::int64_t median = 0;
  std::int64_t worst = 0;
  std::int64_t total = 0;
  bool includes_waiting = false;
  // Some member of the group is not among the given ranks: waiting for it is in all of these.
  bool lacks_members = false;

  // Nothing where the size or the time is not known.
  std::optional<core::Bandwidth> algbw() const;
  std::optional<core::Bandwidth> busbw() const;
};

// By group, operation and size.
std::vector<Rate> rates_of(const CommJob& job, const Matching& matching, const Waits& waits);

// Nothing for barriers, token dispatch and calls that are not known.
std::optional<model::Op> op_of(CollectiveClass kind);
double busbw_factor(CollectiveClass kind, int ranks);
// S / time in units of algbw; nothing where either is zero.
std::optional<core::Bandwidth> algbw_of(std::optional<std::uint64_t> bytes, std::int64_t time);

}  // namespace comm_probe::torch
