// Collectives on a fabric whose links they share: one with what changes it, others beside it.
//
//   flows    up to kMostFlowMessages messages: every one is a flow, event by event
//   rounds   more: all ranks go through the rounds in step, a round is played once however often it
//            repeats
//   loads    all_to_all by direct messages, more ranks: what the fullest link of each kind carries,
//            where every rank sees the same (all leaves full), beside one alpha for each peer
#pragma once

#include <memory>

#include "sim/fabric_graph.h"
#include "sim/planned_channels.h"
#include "sim/what_if.h"

namespace comm_probe::sim {

// Another communicator on the same fabric.
struct OtherJob {
  model::Collective collective = {};
  std::vector<int> places = {};  // GPUs of the fabric, in the order of its ranks
};

struct FabricWhatIf {
  WhatIf what = {};  // its `fabric`: the links of the machines
  FabricShape shape = {};
  std::uint64_t seed = 0;
  std::vector<int> places = {};  // empty: rank r on GPU r
  std::vector<OtherJob> others = {};
  // Given: the rings and trees of the collective itself; else they take all NICs of a node at once.
  PlannedChannels channels = {};
};

struct Bottleneck {
  std::string link = {};
  LinkKind kind = LinkKind::kNvlink;
  double share = 0;        // of the time that all flows were held up
  core::Bytes bytes = {};  // that it carried
  int most_flows = 0;      // at once
};
// Of links among which a hash chooses: how uneven the bytes lie on those that carry any or could.
struct Collisions {
  LinkKind kind = LinkKind::kLeafUp;
  double fullest_over_mean = 1;
  std::string fullest = {};
  int most_flows = 0;
};
struct JobOutcome {
  model::Collective collective = {};
  model::Algorithm algorithm = model::Algorithm::kRing;
  core::Duration shared = {}, alone = {};
  Floors floors = {};
};

struct FabricOutcome {
  enum class Model { kFlows, kRounds, kLoads };
  Model model = Model::kFlows;
  Outcome outcome = {};
  std::vector<JobOutcome> jobs = {};  // the first is the collective itself; empty without others
  std::vector<Bottleneck> bottlenecks = {};               // the worst first, at most three
  std::vector<std::pair<LinkKind, double>> by_kind = {};  // shares, the largest first
  std::vector<Collisions> collisions = {};
  int nodes = 0, gpus_per_node = 0, nics_per_node = 0, leaves = 0;
  std::size_t links = 0;
  double messages = 0;
};
const char* model_name(FabricOutcome::Model model);

// Refuses what play() and FabricGraph refuse, algorithms that have no flows (what can is named),
// places that do not exist or are used twice in one job, and what is too large for the three ways.
core::Result<FabricOutcome> play_on_fabric(const FabricWhatIf& what);

inline constexpr double kMostFlowMessages = 1 << 22;

}  // namespace comm_probe::sim
