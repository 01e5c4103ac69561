// What would a recorded step gain from a change? The record (step_record.h) is played as it was,
// which shows how far the replay can be trusted, and with the change.
//
//   nic_rate F          transfers take latency + (transfer - latency) / F, where the group leaves a
//                       node (all groups where nobody says how many GPUs a node has)
//   without_straggler   work and gaps of one rank take what the median of the ranks takes that run
//                       the same kernels in the same step, where that is less; it begins with them
//   merge               collectives of one group that follow each other on their stream, in one
//                       step, become one up to this size, with one latency; not where work waited
//                       for an earlier one
//
// The latency of a collective is that of the algorithm for a given alpha, else where the line
// through the smallest and the largest size of its group and kind meets size 0; else 0.
//
// A faster NIC and a removed straggler only take time away, so no event becomes later
// (model/max_plus.h); merging can make a step longer: the whole waits for its last part.
#pragma once

#include <optional>

#include "core/quantity.h"
#include "sim/step_record.h"

namespace comm_probe::sim {

struct StepChange {
  std::optional<double> nic_rate = {};
  std::optional<int> without_straggler = {};  // the rank
  std::optional<core::Bytes> merge = {};
  bool is_none() const { return !nic_rate && !without_straggler && !merge; }
};

struct StepGiven {
  std::optional<core::Duration> alpha = {};
  int gpus_per_node = 0;  // 0: not known
  // False: work waits for the calls for which it is seen to have waited. True: also for those that
  // were over before it began, by chance or not; a change then gains what is certain.
  bool keeps_order = false;
};

struct StepTimes {
  core::Duration total = {};
  std::vector<core::Duration> steps = {};  // of StepRecord::steps: from the end of the one before
  // No change can go below these: the longest work of one rank, the longest transfers of one
  // stream.
  core::Duration work_floor = {}, transfer_floor = {};
  std::size_t merged = 0;           // collectives that went into others
  std::size_t without_latency = 0;  // of the changed ones: no size or alpha tells their latency
};

// As it was recorded, without any replay.
StepTimes recorded_times(const StepRecord& record);
// Fails where the rank does not exist or no other rank runs its kernels.
core::Result<StepTimes> replay(const StepRecord& record, const StepChange& change,
                               const StepGiven& given);
// The rank that the others waited for the longest; nothing where nobody was late.
std::optional<int> worst_straggler(const torch::AcrossRanks& across);

}  // namespace comm_probe::sim
