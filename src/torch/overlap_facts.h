// Everything that can kill overlap on one rank: the facts that diagnose/trace_killers.h judges.
// O(n log n) in the events of the trace.
//
// Worked example (tests/golden/trace): cases/02_item, each rank: 15 items, 5 per step; the four
// aten::item per step that copy nothing are not among them.
#pragma once

#include <string>

#include "torch/contention.h"
#include "torch/host_blocks.h"
#include "torch/launch_gaps.h"
#include "torch/small_collectives.h"
#include "torch/stream_stalls.h"

namespace comm_probe::torch {

struct OverlapFacts {
  const Trace* trace = nullptr;
  Interval extent = {};
  std::int64_t communication = 0;  // |C|
  std::size_t steps = 1;           // that device work belongs to; 1 where there are none
  HostBlocks blocks = {};
  StreamStalls streams = {};
  Contention contention = {};
  std::vector<SmallCollectives> small = {};
  LaunchGaps gaps = {};
  bool is_parallel = false;  // ranges of DistributedDataParallel or FSDP
  // "train.py:32 (step)": the code around the call of a hit; empty without stacks.
  std::string place_of(const KillerHit& hit) const;
};
// The trace outlives the facts. After find_steps().
OverlapFacts overlap_facts(const Trace& trace);

}  // namespace comm_probe::torch
