#include "model/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "model/tree_edges.h"

namespace comm_probe::model {
namespace {

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n) - 1)); }
int floor_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }
std::string times_s(double share) { return share == 1 ? "S" : fmt::format("{}S", share); }
double others(int n) { return static_cast<double>(n - 1) / n; }

// (n-1) steps in which (n-1)/n of the message passes each rank: half of a ring all_reduce, a ring
// all_gather or reduce_scatter.
Part ring_pass(std::string name, int n, const Link& link, double share = 1) {
  return {std::move(name), static_cast<double>(n - 1), others(n) * share, link,
          fmt::format("n-1 = {} step{}; each rank passes on (n-1)/n of {}", n - 1,
                      n == 2 ? "" : "s", share == 1 ? "the message" : "its part of the message")};
}

core::Result<Parts> ring_all_reduce(const Placement& at) {
  return Parts{ring_pass("reduce_scatter around the ring", at.ranks, at.railed),
               ring_pass("all_gather around the ring", at.ranks, at.railed)};
}
core::Result<Parts> ring_all_gather(const Placement& at) {
  return Parts{ring_pass("all_gather around the ring", at.ranks, at.railed)};
}
core::Result<Parts> ring_reduce_scatter(const Placement& at) {
  return Parts{ring_pass("reduce_scatter around the ring", at.ranks, at.railed)};
}
core::Result<Parts> chain(const Placement& at) {
  return Parts{{"pipeline along the ring", static_cast<double>(at.ranks - 1), 1, at.railed,
                fmt::format("n-1 = {} hops to the last rank; the message passes each link once",
                            at.ranks - 1)}};
}

// What the edges of a tree bring to the place where they take the longest: a rank of theirs inside
// its node, or its way out of it. `each` of the message goes over every edge.
struct TreeLoad {
  double share = 0;
  Link link = {};
};
TreeLoad tree_load(const Placement& at, const TreeEdges& edges, double each,
                   core::Bandwidth inside) {
  const core::Duration alpha = at.slowest.alpha;
  const TreeLoad near = {edges.inside * each, {alpha, inside}};
  if (at.nodes == 1) return near;
  const TreeLoad far = {edges.of_rank * each, {alpha, crossing_rate(at, edges)}};
  return near.share / near.link.beta.in_GBps() > far.share / far.link.beta.in_GBps() ? near : far;
}

// An inner node of a binary tree exchanges the whole message with each of its children.
Part tree_wave(const char* name, const Placement& at, const char* verb) {
  const TreeLoad load = tree_load(at, tree_edges(at.ranks, at.ranks_per_node), 1, at.branched.beta);
  return {name, static_cast<double>(ceil_log2(at.ranks)), load.share, load.link,
          fmt::format("ceil(log2 n) = {} levels; an inner rank {} {}", ceil_log2(at.ranks), verb,
                      times_s(load.share))};
}
core::Result<Parts> tree_all_reduce(const Placement& at) {
  return Parts{tree_wave("reduce up the tree", at, "receives"),
               tree_wave("broadcast down the tree", at, "sends")};
}
core::Result<Parts> tree_broadcast(const Placement& at) {
  return Parts{tree_wave("broadcast down the tree", at, "sends")};
}
core::Result<Parts> tree_reduce(const Placement& at) {
  return Parts{tree_wave("reduce up the tree", at, "receives")};
}

// Two trees, an inner rank of one is a leaf of the other; each carries half of the message. In a
// mesh two edges of a rank can go to the same one.
Part double_tree_part(const char* name, const Placement& at, TreeWaves waves) {
  const TreeEdges edges = double_tree_edges(at.ranks, at.ranks_per_node, waves);
  const double same = waves == TreeWaves::kBoth ? 1 : 2;
  const core::Bandwidth inside =
      std::min(at.intra.beta, at.partner.beta * std::max(1.0, same * edges.inside / 2));
  const TreeLoad load = tree_load(at, edges, 0.5, inside);
  return {name, static_cast<double>(ceil_log2(at.ranks)), load.share, load.link,
          fmt::format("ceil(log2 n) = {} levels; two trees with half the message each: {} {}",
                      ceil_log2(at.ranks), times_s(load.share),
                      waves == TreeWaves::kBoth ? "each way at the busiest rank, up and down"
                                                : "per rank")};
}
core::Result<Parts> double_tree_all_reduce(const Placement& at) {
  Part up = double_tree_part("reduce up both trees", at, TreeWaves::kBoth);
  up.share /= 2;
  Part down = up;
  down.name = "broadcast down both trees";
  return Parts{std::move(up), std::move(down)};
}
core::Result<Parts> double_tree_broadcast(const Placement& at) {
  return Parts{double_tree_part("broadcast down both trees", at, TreeWaves::kOne)};
}
core::Result<Parts> double_tree_reduce(const Placement& at) {
  return Parts{double_tree_part("reduce up both trees", at, TreeWaves::kOne)};
}

core::Result<Parts> require_even(const Placement& at, Parts parts) {
  if (at.is_even) return parts;
  return core::input_error(
      fmt::format("{} ranks do not fill nodes of {} ranks", at.ranks, at.ranks_per_node),
      "the number of ranks must be a multiple of the ranks per node");
}

// Both links of a rank work at the same time: the slower one stands in the ledger with its bytes.
void hide_faster(Part& inside, Part& outside) {
  const bool outside_is_slower =
      outside.share / outside.link.beta.in_GBps() >= inside.share / inside.link.beta.in_GBps();
  Part& hidden = outside_is_slower ? inside : outside;
  hidden.hidden_share = hidden.share;
  hidden.share = 0;
  hidden.reason += "; the bytes pass while the slower link works";
}

// In the middle of the chain S goes up and S down; between two ranks one of them each way. Of two
// nodes each has one edge of either tree, with half of the message; of four and more some have
// four, two to children, one to a parent, and one as a leaf of the other tree.
core::Result<Parts> nccl_tree_all_reduce(const Placement& at) {
  const int in_chain = at.ranks_per_node - 1;
  const int levels = floor_log2(at.nodes);
  const int passed = std::min(in_chain, 2);
  Part chain = {"chain inside the node, up and down", 2.0 * in_chain, static_cast<double>(passed),
                at.intra,
                fmt::format("2(p-1) = {} steps; {} each way", 2 * in_chain, times_s(passed))};
  if (at.nodes == 1) return Parts{chain};
  TreeEdges edges = double_tree_edges(at.nodes, 1, TreeWaves::kBoth);
  const double share = edges.of_node / 2.0;
  Part tree = {"tree over the nodes, up and down",
               2.0 * levels,
               share,
               {at.railed.alpha, crossing_rate(at, edges)},
               fmt::format("2*log2 N = {} steps; {} each way out of the busiest node", 2 * levels,
                           times_s(share))};
  hide_faster(chain, tree);
  return require_even(at, {chain, tree});
}

// Rounds with one partner each, at distance 1, 2, 4, ... Where ranks fill nodes of a power of two,
// the first log2 p rounds stay inside, and in the others all ranks of a node cross at once.
struct Rounds {
  const char* name;
  double share_inside, share_across;  // of S
  const char* what;
};
bool is_power_of_two(int n) { return std::has_single_bit(static_cast<unsigned>(n)); }
Parts rounds_of(const Placement& at, int rounds, const Rounds& one) {
  const bool splits = at.nodes > 1 && at.is_even && is_power_of_two(at.ranks_per_node);
  const int inside = at.nodes == 1 ? rounds : splits ? floor_log2(at.ranks_per_node) : 0;
  Parts parts;
  if (inside > 0)
    parts.push_back({fmt::format("{}{}", one.name, splits ? ", inside the node" : ""),
                     static_cast<double>(inside), one.share_inside, at.partner,
                     fmt::format("{} rounds with one partner each; {}", inside, one.what)});
  if (rounds > inside)
    parts.push_back(
        {fmt::format("{}{}", one.name, splits ? ", between nodes" : ""),
         static_cast<double>(rounds - inside),
         one.share_across + (inside > 0 ? 0 : one.share_inside), splits ? at.inter : at.slowest,
         fmt::format("{} rounds in which every rank crosses; {}", rounds - inside, one.what)});
  return parts;
}

core::Result<Parts> power_of_two(const Placement& at, const Rounds& one) {
  if (is_power_of_two(at.ranks)) return rounds_of(at, floor_log2(at.ranks), one);
  return core::input_error(
      fmt::format("recursive doubling needs a power of two, found {} ranks", at.ranks),
      "ring takes any number of ranks");
}
core::Result<Parts> doubling_all_reduce(const Placement& at) {
  const int rounds = floor_log2(at.ranks);
  const int inside = std::min(rounds, floor_log2(at.ranks_per_node));
  Parts parts = rounds_of(at, rounds,
                          {"exchange with partners", static_cast<double>(inside),
                           static_cast<double>(rounds - inside), "the whole message in each"});
  if (!is_power_of_two(at.ranks))
    parts.push_back({"fold the ranks above the power of two in and out", 2, 2,
                     at.nodes == 1 ? at.partner : at.slowest,
                     "one step and S before, one step and S after"});
  return parts;
}
double inside_blocks(const Placement& at) {
  return static_cast<double>(at.ranks_per_node - 1) / at.ranks;
}
core::Result<Parts> doubling_all_gather(const Placement& at) {
  return power_of_two(at, {"exchange doubling blocks", inside_blocks(at),
                           others(at.ranks) - inside_blocks(at), "1/n, 2/n, 4/n ... of S"});
}
core::Result<Parts> halving_reduce_scatter(const Placement& at) {
  return power_of_two(at, {"exchange halving blocks", inside_blocks(at),
                           others(at.ranks) - inside_blocks(at), "1/n, 2/n, 4/n ... of S"});
}

// One access to all peers costs two steps: tell them that the data is there, then move it (golden
// G7-05: 2 steps instead of 2(n-1)).
constexpr double kStepsOfOneShot = 2;

core::Result<Parts> one_shot_whole(const Placement& at) {
  return Parts{{"every rank reads the message of all others", kStepsOfOneShot,
                static_cast<double>(at.ranks - 1), at.slowest,
                fmt::format("flags, then data; (n-1)S = {}S enter each rank", at.ranks - 1)}};
}
core::Result<Parts> one_shot_root(const Placement& at) {
  return Parts{
      {"the root exchanges the message with all others", kStepsOfOneShot,
       static_cast<double>(at.ranks - 1), at.slowest,
       fmt::format("flags, then data; (n-1)S = {}S pass the link of the root", at.ranks - 1)}};
}
core::Result<Parts> one_shot_shares(const Placement& at) {
  return Parts{{"every rank reads its part from all others", kStepsOfOneShot, others(at.ranks),
                at.slowest, "flags, then data; (n-1)/n of S enter each rank"}};
}
core::Result<Parts> two_shot_all_reduce(const Placement& at) {
  return Parts{{"reduce_scatter in one shot", kStepsOfOneShot, others(at.ranks), at.slowest,
                "flags, then data; (n-1)/n of S enter each rank"},
               {"all_gather in one shot", kStepsOfOneShot, others(at.ranks), at.slowest,
                "flags, then data; (n-1)/n of S enter each rank"}};
}

core::Result<Parts> hierarchical_all_reduce(const Placement& at) {
  const double part = 1.0 / at.ranks_per_node;
  return require_even(at, {ring_pass("reduce_scatter inside the node", at.ranks_per_node, at.intra),
                           ring_pass("reduce_scatter between nodes", at.nodes, at.inter, part),
                           ring_pass("all_gather between nodes", at.nodes, at.inter, part),
                           ring_pass("all_gather inside the node", at.ranks_per_node, at.intra)});
}
core::Result<Parts> hierarchical_all_gather(const Placement& at) {
  return require_even(at, {ring_pass("all_gather between nodes, every local rank its part",
                                     at.nodes, at.inter, 1.0 / at.ranks_per_node),
                           ring_pass("all_gather inside the node", at.ranks_per_node, at.intra)});
}
core::Result<Parts> hierarchical_reduce_scatter(const Placement& at) {
  return require_even(at, {ring_pass("reduce_scatter inside the node", at.ranks_per_node, at.intra),
                           ring_pass("reduce_scatter between nodes, every local rank its part",
                                     at.nodes, at.inter, 1.0 / at.ranks_per_node)});
}
core::Result<Parts> hierarchical_all_to_all(const Placement& at) {
  return require_even(
      at, {{"exchange inside the node, sorted by destination rank", at.ranks_per_node - 1.0,
            others(at.ranks_per_node), at.intra, "p-1 steps; (p-1)/p of S change the local rank"},
           {"exchange between nodes, rank i with rank i", at.nodes - 1.0, others(at.nodes),
            at.inter, "N-1 steps; (N-1)/N of S leave the node"}});
}

// GPUs that one NVLink domain can hold (NVIDIA NVLink Switch System, fourth and fifth generation).
constexpr int kMostBehindSwitches = 576;

core::Result<Parts> one_switch(const Placement& at, Part part) {
  if (at.ranks_per_node > kMostBehindSwitches)
    return core::input_error(fmt::format("{} ranks in one NVLink domain, at most {} fit",
                                         at.ranks_per_node, kMostBehindSwitches),
                             "hierarchical prices several nodes");
  if (at.nodes == 1) return Parts{std::move(part)};
  return core::input_error(fmt::format("one NVSwitch cannot reach {} nodes", at.nodes),
                           "hierarchical prices several nodes");
}
core::Result<Parts> nvls_all_reduce(const Placement& at) {
  return one_switch(at, {"reduce in the switch, multicast the result", 2, 1, at.intra,
                         "one step in, one step out; S leaves and S enters each rank"});
}
core::Result<Parts> nvls_all_gather(const Placement& at) {
  return one_switch(at, {"multicast in the switch", 1, others(at.ranks), at.intra,
                         "one step; (n-1)/n of S enter each rank"});
}
core::Result<Parts> nvls_reduce_scatter(const Placement& at) {
  return one_switch(at, {"reduce in the switch", 1, others(at.ranks), at.intra,
                         "one step; (n-1)/n of S leave each rank"});
}

// One partner in a step, anywhere.
Link one_partner(const Placement& at) { return at.nodes == 1 ? at.partner : at.slowest; }

core::Result<Parts> direct_all_to_all(const Placement& at) {
  const int local = at.ranks_per_node - 1, remote = at.ranks - at.ranks_per_node;
  Part inside = {"to the ranks of the same node", static_cast<double>(local),
                 static_cast<double>(local) / at.ranks, at.nodes == 1 ? at.slowest : at.intra,
                 fmt::format("{} steps; 1/n of S for each", local)};
  Part outside = {"to the ranks of other nodes", static_cast<double>(remote),
                  static_cast<double>(remote) / at.ranks, at.inter,
                  fmt::format("{} steps; 1/n of S for each", remote)};
  if (remote == 0) return Parts{inside};
  hide_faster(inside, outside);
  return Parts{inside, outside};
}
core::Result<Parts> direct_send_recv(const Placement& at) {
  return Parts{{"send to one rank, receive from one", 1, 1, one_partner(at),
                "one step; S leaves and S enters each rank"}};
}

// Round k sends every block whose distance has bit k set.
double bruck_blocks(int n) {
  double blocks = 0;
  for (int bit = 0; bit < ceil_log2(n); ++bit) {
    const int period = 2 << bit, half = 1 << bit;
    blocks += (n / period) * half + std::max(0, n % period - half);
  }
  return blocks;
}
core::Result<Parts> bruck_all_to_all(const Placement& at) {
  const int rounds = ceil_log2(at.ranks);
  const double share = bruck_blocks(at.ranks) / at.ranks;
  return Parts{{"rounds over the bits of the distance", static_cast<double>(rounds), share,
                one_partner(at),
                fmt::format("ceil(log2 n) = {} rounds; about half of S in each, {:.4g}S in all",
                            rounds, share)}};
}
core::Result<Parts> bruck_all_gather(const Placement& at) {
  const int rounds = ceil_log2(at.ranks);
  return Parts{{"rounds with doubling blocks", static_cast<double>(rounds), others(at.ranks),
                one_partner(at),
                fmt::format("ceil(log2 n) = {} rounds; (n-1)/n of S enter each rank", rounds)}};
}

constexpr const char* kAnyPair = "access to the memory of all ranks";
constexpr const char* kSwitch = kNeedsSwitch;
constexpr const char* kByRing = "Patarasuk, Yuan 2009 (bandwidth optimal all-reduce)";
constexpr const char* kByTree = "binary tree";
constexpr const char* kByTrees = "Sanders, Speck, Traeff 2009 (two-tree algorithms)";
constexpr const char* kByNccl = "NCCL src/graph/tuning.cc, step count of the tree";
constexpr const char* kByDoubling = "Thakur, Rabenseifner, Gropp 2005 (MPICH collectives)";
constexpr const char* kByShot = "peer-to-peer kernels (vLLM custom all-reduce)";
constexpr const char* kByLevels = "two-level collectives";
constexpr const char* kBySwitch = "plain traffic of the switch; NCCL's own efficiency is not in it";
constexpr const char* kByBruck = "Bruck et al. 1997 (index and concatenation)";
constexpr const char* kByPairs = "pairwise exchange";

using O = Op;
using A = Algorithm;
constexpr std::array kRecipes = {
    Recipe{O::kAllReduce, A::kRing, ring_all_reduce, "", kByRing},
    Recipe{O::kAllGather, A::kRing, ring_all_gather, "", kByRing},
    Recipe{O::kReduceScatter, A::kRing, ring_reduce_scatter, "", kByRing},
    Recipe{O::kBroadcast, A::kRing, chain, "", kByRing},
    Recipe{O::kReduce, A::kRing, chain, "", kByRing},
    Recipe{O::kAllReduce, A::kTree, tree_all_reduce, "", kByTree},
    Recipe{O::kBroadcast, A::kTree, tree_broadcast, "", kByTree},
    Recipe{O::kReduce, A::kTree, tree_reduce, "", kByTree},
    Recipe{O::kAllReduce, A::kNcclTree, nccl_tree_all_reduce, "", kByNccl},
    Recipe{O::kAllReduce, A::kDoubleTree, double_tree_all_reduce, "", kByTrees},
    Recipe{O::kBroadcast, A::kDoubleTree, double_tree_broadcast, "", kByTrees},
    Recipe{O::kReduce, A::kDoubleTree, double_tree_reduce, "", kByTrees},
    Recipe{O::kAllReduce, A::kRecursiveDoubling, doubling_all_reduce, "", kByDoubling},
    Recipe{O::kAllGather, A::kRecursiveDoubling, doubling_all_gather, "", kByDoubling},
    Recipe{O::kReduceScatter, A::kRecursiveDoubling, halving_reduce_scatter, "", kByDoubling},
    Recipe{O::kAllReduce, A::kOneShot, one_shot_whole, kAnyPair, kByShot},
    Recipe{O::kAllGather, A::kOneShot, one_shot_shares, kAnyPair, kByShot},
    Recipe{O::kReduceScatter, A::kOneShot, one_shot_shares, kAnyPair, kByShot},
    Recipe{O::kBroadcast, A::kOneShot, one_shot_root, kAnyPair, kByShot},
    Recipe{O::kReduce, A::kOneShot, one_shot_root, kAnyPair, kByShot},
    Recipe{O::kAllReduce, A::kTwoShot, two_shot_all_reduce, kAnyPair, kByShot},
    Recipe{O::kAllReduce, A::kHierarchical, hierarchical_all_reduce, "", kByLevels},
    Recipe{O::kAllGather, A::kHierarchical, hierarchical_all_gather, "", kByLevels},
    Recipe{O::kReduceScatter, A::kHierarchical, hierarchical_reduce_scatter, "", kByLevels},
    Recipe{O::kAllToAll, A::kHierarchical, hierarchical_all_to_all, "", kByLevels},
    Recipe{O::kAllReduce, A::kNvls, nvls_all_reduce, kSwitch, kBySwitch},
    Recipe{O::kAllGather, A::kNvls, nvls_all_gather, kSwitch, kBySwitch},
    Recipe{O::kReduceScatter, A::kNvls, nvls_reduce_scatter, kSwitch, kBySwitch},
    Recipe{O::kAllToAll, A::kDirect, direct_all_to_all, "", kByPairs},
    Recipe{O::kSendRecv, A::kDirect, direct_send_recv, "", kByPairs},
    Recipe{O::kAllToAll, A::kBruck, bruck_all_to_all, "", kByBruck},
    Recipe{O::kAllGather, A::kBruck, bruck_all_gather, "", kByBruck},
};

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* find_recipe(Op op, Algorithm algorithm) {
  for (const Recipe& recipe : kRecipes)
    if (recipe.op == op && recipe.algorithm == algorithm) return &recipe;
  return nullptr;
}

}  // namespace comm_probe::model
