// Which link lies between two ranks: inside a node, between nodes, or one that is known to be
// slower than its kind. Ranks fill nodes in order: rank r stands on node r / ranks_per_node.
//
// Worked example (tests/unit/model/recurrence_test.cc): 16 ranks in nodes of 8, 400 GB/s inside, 50
// GB/s between: between(7, 8) is 50 GB/s; with {8, 9, 0.5} between(8, 9) is 200 GB/s.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/fabric.h"

namespace comm_probe::model {

// Both directions between two ranks have `factor` times the bandwidth of their kind: 0.5 is half.
// kAnyRank: all links of rank `a` that leave its node, as with a slow NIC; all its links where
// there is one node.
inline constexpr int kAnyRank = -1;
struct SlowLink {
  int a = 0;
  int b = kAnyRank;
  double factor = 1;
};

// Who crosses between nodes. A ring, or a tree over the nodes, crosses at one place and spreads
// over all rails of the node, in equal parts, so that its slowest NIC sets the rate. A tree over
// all ranks crosses with many edges (tree_edges.h): each has its part of all rails, or of the NIC
// of its rank where that is all it has. Else every rank has its own share.
enum class Crossing { kAllRails, kOwnShare, kTree };
Crossing crossing_of(Algorithm algorithm);

class Network {
 public:
  Network(int ranks, const Fabric& fabric, Crossing crossing, const std::vector<SlowLink>& slow);

  const Placement& placement() const { return at_; }
  int ranks() const { return at_.ranks; }
  Link between(int from, int to) const;
  bool shares_node(int a, int b) const { return a / at_.ranks_per_node == b / at_.ranks_per_node; }
  // All its links together carry no more.
  core::Bandwidth most_of(int rank) const;
  core::Duration smallest_alpha() const;

 private:
  // NICs are those of a rank, or of a whole node.
  int nic_of(int rank) const;
  double nic_factor(int rank) const;
  double factor(int from, int to, bool is_inside) const;

  Placement at_ = {};
  Crossing crossing_ = Crossing::kOwnShare;
  Link inside_ = {}, across_ = {};
  std::unordered_map<std::uint64_t, double> pairs_ = {};
  std::unordered_map<int, double> nics_ = {};
};

}  // namespace comm_probe::model
