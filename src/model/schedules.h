// The algorithms of calc, played by the recurrence round by round. They stand here as loops and not
// as lists of messages: a ring of 16,384 ranks has 537 million of them.
//
//   ring                2(n-1) rounds of S/n to the next rank; half of that for all_gather and
//                       reduce_scatter; broadcast and reduce pass on chunks along a chain
//   tree                a binary tree in heap order, chunk after chunk: up until the root has all,
//                       then down
//   recursive-doubling  exchange with r ^ 1, r ^ 2, r ^ 4 ...
//   one-shot, two-shot  flags, then all pairs at once
//   hierarchical        rings inside the nodes and over the ranks that stand at the same place
//   direct, bruck       all_to_all in n-1 rounds, in ceil(log2 n) rounds
//
// With links that are all alike the time is that of the closed form, and for chains and trees
// longer by what chunks need to fill the pipeline: at most one chunk for each child and hop but the
// last. Worked example (tests/unit/model/schedules_test.cc): broadcast along
// 4 ranks, 8 chunks of 1 MB, 1 us, 1 GB/s: 3 us + 8 ms + 2 x 1 ms.
#pragma once

#include "core/result.h"
#include "model/recurrence.h"

namespace comm_probe::model {

// Chains and trees pass a message on in pieces of this size: one of the 8 steps of NCCL's Simple
// buffer of 4 MiB (NCCL_BUFFSIZE, NCCL_STEPS; spec/nccl-5-tuning.md).
inline constexpr double kPipelineChunk = 524288;  // bytes

struct Played {
  Algorithm algorithm = Algorithm::kRing;
  core::Bytes chunk = core::Bytes::of(kPipelineChunk);
};

// The algorithms that play() knows for the operation.
std::vector<Algorithm> playable(Op op);
// Moves the clocks of `ranks` by one call. Refuses a combination that does not exist, with those
// that do, and what the placement cannot serve. Sizes mean what they mean in Collective.
core::Result<bool> play(const Collective& collective, const Played& how, const Network& network,
                        Recurrence& ranks);
// The same for an algorithm that goes round by round, whoever plays it; refuses the others too.
core::Result<bool> play_rounds(const Collective& collective, Algorithm algorithm,
                               const Placement& at, Rounds& rounds);

}  // namespace comm_probe::model
