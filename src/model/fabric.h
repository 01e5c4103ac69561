// Where the ranks of a collective stand: one link for all, or one inside a node and one between
// nodes. All links are full duplex; beta is one direction.
#pragma once

#include <optional>
#include <string>

#include "model/collective.h"
#include "model/step_alpha.h"

namespace comm_probe::model {

struct Fabric {
  Link link = {};                  // of every rank; inside the node where `inter` is given
  std::optional<Link> inter = {};  // between nodes: the share of one rank, not of the node
  int ranks_per_node = 0;          // 0: all ranks in one node
  // Inside, where links lead to single GPUs (a mesh): to one partner, to all others at once.
  // Nothing: `link`.
  std::optional<core::Bandwidth> one_peer = {}, all_peers = {};
  // Ways out of a node that a ring or a tree uses at once, each of rate `rail` (nothing: as
  // `inter`): NCCL spreads its channels over all NICs. 1: a single one (golden G1-14).
  int rails = 1;
  std::optional<core::Bandwidth> rail = {};
  core::Basis basis = core::Basis::kAssumed;
  std::string source = "given on the command line";
  // Where alpha comes from, always assumed; empty: as `source`.
  std::string alpha_source = {}, inter_alpha_source = {};
  // Where given, alpha follows the protocol by NCCL's constants (step_alpha.h).
  std::optional<StepClass> inside_step = {}, between_step = {};
  std::optional<bool> switch_reduces = {};  // NVLS; nothing: unknown
};
// With the alphas of a protocol, where they are NCCL's constants.
Fabric with_protocol(Fabric fabric, Protocol protocol);

// The same for one number of ranks. A step in which some rank crosses nodes takes as long as that
// rank, so a flat algorithm in which all ranks cross is priced on `slowest`: the larger alpha and
// the smaller beta. One that crosses nodes in few places has all rails for them: `railed` for
// rings. Trees over all ranks cross in many places (tree_edges.h). `partner` is for steps with one
// partner inside a node, `branched` for an inner rank of a tree there (two links of a mesh).
struct Placement {
  int ranks = 1;
  int ranks_per_node = 1;
  int nodes = 1;
  bool is_even = true;  // the ranks fill the nodes without a rest
  // A rank leaves its node by the NIC of its own share alone; else all rails of the node are one
  // for its ranks.
  bool has_own_nics = false;
  Link intra = {};
  Link inter = {};
  Link slowest = {};
  Link railed = {};
  Link branched = {};
  Link partner = {};
};
Placement place(int ranks, const Fabric& fabric);

}  // namespace comm_probe::model
