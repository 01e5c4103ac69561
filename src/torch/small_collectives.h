// Many collectives that are too small to be worth one call each (spec traces 2.8, K8).
//
// Per process group and operation, NCCL's kernels only: those below 256 KiB, or without a recorded
// size shorter than 40 us in the median. Each costs its latency whatever it carries: the tenth
// fastest per cent of their durations, since the others may wait for late ranks. Merged into
// buckets of 25 MiB (DDP's default), N calls with S bytes become ceil(S / 25 MiB), per step:
//   saving = (N - merged) x latency
// Not counted are those whose result the next kernel needs (ByDesign, and collectives on the
// compute stream with a kernel between each and the next one): nothing can merge them.
//
//   64 all_reduces of 26 000 B, 28 us each, in one step: merged 1, saving 63 x 28 us = 1.76 ms
#pragma once

#include "torch/stream_stalls.h"

namespace comm_probe::torch {

struct SmallCollectives {
  std::uint32_t group = kNone;  // in Trace::groups
  CollectiveClass kind = CollectiveClass::kUnknown;
  KillerHits calls = {};
  std::size_t steps = 0;  // that have some; 1 where the trace has no steps
  std::uint64_t bytes = 0;
  bool is_sized = false;
  std::int64_t latency = 0;
  std::int64_t busy = 0;          // |C| of them
  std::int64_t merged_calls = 0;  // of all steps
  std::int64_t saving = 0;        // of all steps

  std::size_t per_step() const { return calls.hits.size() / steps; }
};
// Those with 16 and more per step, the greatest saving first.
std::vector<SmallCollectives> small_collectives(const Trace& trace, const Phases& phases,
                                                const DeviceTime& time,
                                                std::uint32_t compute_stream);

}  // namespace comm_probe::torch
