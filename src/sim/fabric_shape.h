// How the NICs of a cluster are wired: what a fabric file says, as plain values. Every switch port
// runs at the rate of the NICs unless `link_rate` says otherwise.
//
//   nvlink          no network: all GPUs in one NVLink domain
//   fat-tree        all NICs of a node on one leaf switch; leaves joined by spines, pods of leaves
//                   by a third tier
//   rail-optimised  NIC i of every node of a unit on leaf i of the unit; leaves joined by spines
//   dragonfly       switches in groups; all switches of a group, and all groups, joined directly;
//                   minimal routing
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"
#include "model/collective.h"

namespace comm_probe::sim {

struct FabricShape {
  enum class Kind { kNvlink, kFatTree, kRailOptimised, kDragonfly };
  // Which of several equal ways a message takes: one by a hash (collisions happen), or a part of it
  // on each (packet spraying, adaptive routing at its best).
  enum class Routing { kEcmp, kSpread };
  Kind kind = Kind::kNvlink;
  Routing routing = Routing::kEcmp;
  int nodes = 0;                    // 0: as many as the ranks need
  int nodes_per_leaf = 0;           // of a leaf, a unit of rails, a dragonfly switch
  int oversubscription = 1;         // ports down over ports up
  std::optional<int> uplinks = {};  // of a leaf, instead of oversubscription
  int leaves_per_pod = 0;           // 0: two tiers
  int pod_oversubscription = 1;
  int switches_per_group = 0;
  std::optional<int> local_links = {}, global_links = {};  // nothing: balanced
  bool pxn = true;  // rails: a message changes the rail over NVLink, in the sender's node
  core::Duration hop = {};
  std::optional<core::Bandwidth> link_rate = {};
  // What the file says of the links of the machines; nothing: the command line does.
  std::optional<model::Link> inside = {}, nic = {};
  int gpus_per_node = 0, nics_per_node = 0;
  std::string source = {};
};

const char* kind_name(FabricShape::Kind kind);
const char* routing_name(FabricShape::Routing routing);
// "fat-tree, 4 nodes per leaf, 2:1 oversubscribed, ways chosen by hash"
std::string describe(const FabricShape& shape);

}  // namespace comm_probe::sim
