// What would it save to merge many small collectives into a few? The bytes stay, the steps are paid
// once per call:
//
//   saving = (N - ceil(N S / 25 MiB)) x latency of one call      (DDP's bucket, golden G5-15)
//
// The latency is that of the reference of bandwidths (trace_rates.h); where there is none and S is
// below 256 KiB, the fastest of the calls themselves, nearly all of which is latency.
//
// Worked example (tests/unit/diagnose/trace_merge_test.cc): 1000 all_reduces of 25 KB on 8 ranks,
// alpha 10 us / 14: 10 us of steps each, 9.99 ms saved, 97.2 us of bytes at 450 GB/s stay (G5-06,
// G5-07).
#pragma once

#include <optional>

#include "diagnose/trace_rates.h"

namespace comm_probe::diagnose {

struct MergeSaving {
  std::size_t calls = 0;
  std::size_t merged = 0;       // calls that are left
  core::Bytes bytes = {};       // of all of them
  core::Duration latency = {};  // of one call
  core::Duration saved = {};
  RateBasis basis = RateBasis::kNone;  // kNone: the fastest of the calls
};

// Of `calls` calls like those of `rate`, for instance those of one step. Nothing where size or
// latency are not known, and where merging leaves as many.
std::optional<MergeSaving> merge_saving(const PricedRate& rate, std::size_t calls);

// Of the calls of one step, where at least 32 of them are below 256 KiB.
std::optional<MergeSaving> merge_saving_per_step(const torch::AcrossRanks& across,
                                                 const PricedRate& rate);

}  // namespace comm_probe::diagnose
