// Where the ranks of a collective stand: one link for all, or one inside a node and one between
// nodes. All links are full duplex; beta is one direction.
#pragma once

#include <optional>
#include <string>

#include "model/collective.h"

namespace comm_probe::model {

struct Fabric {
  Link link = {};                  // of every rank; inside the node where `inter` is given
  std::optional<Link> inter = {};  // between nodes: the share of one rank, not of the node
  int ranks_per_node = 0;          // 0: all ranks in one node
  // Ways out of a node that a flat algorithm uses at once, each as fast as `inter`: NCCL builds one
  // ring per NIC. 1: a single ring (golden G1-14).
  double rails = 1;
  core::Basis basis = core::Basis::kRead;
  std::string source = "alpha and beta given";
};

// The same for one number of ranks. A step in which some rank crosses nodes takes as long as that
// rank, so a flat algorithm is priced on `slowest`: the larger alpha and the smaller beta. One that
// crosses nodes in few places (a ring, NCCL's tree) has all rails for them: `railed`.
struct Placement {
  int ranks = 1;
  int ranks_per_node = 1;
  int nodes = 1;
  bool is_even = true;  // the ranks fill the nodes without a rest
  Link intra = {};
  Link inter = {};
  Link slowest = {};
  Link railed = {};
};
Placement place(int ranks, const Fabric& fabric);

}  // namespace comm_probe::model
