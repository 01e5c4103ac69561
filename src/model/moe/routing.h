// Which rank sends what to which when the routing is known: every token of a step with the experts
// it picked. Tokens stand in the order of their ranks, in equal shares; expert e lives where a
// ExpertPlacement says, without one in equal shares of E / R in order.
//   flat    every (token, expert) pair crosses from the token's rank to the expert's
//   dedup   once per node to the rank of the same index there, from there to each rank that holds
//           one of its experts
//   time    alpha + max over ranks, directions and links of bytes / rate: the slowest rank counts
// Source: shared spec moe.md 1 (imbalance), 4 (path of a token). Worked example
// (tests/unit/moe/routing_test.cc): 2 nodes of 2 ranks, 4 experts, tokens {0,1} {0,2} {0,3} {0,1}
// of ranks 0 to 3: rank 0 gets 4 of 8 pairs, twice the mean; dedup saves 1 of 4 NIC copies.
#pragma once

#include <cstdint>
#include <vector>

#include "model/moe/layer.h"

namespace comm_probe::model {

inline constexpr std::uint16_t kNoExpert = 0xffff;  // a slot of a token that picks nothing

struct Routing {
  int topk = 0;
  int experts = 0;                        // at most kNoExpert
  std::vector<std::uint16_t> picks = {};  // topk per token
  std::int64_t undecided = 0;             // tokens whose logits were all equal
  std::int64_t tokens() const {
    return topk > 0 ? static_cast<std::int64_t>(picks.size()) / topk : 0;
  }
};

// The ranks that hold each expert; a token goes to one of them, in turn.
struct ExpertPlacement {
  std::vector<std::uint32_t> first = {};  // by expert: where its ranks begin in `ranks`; one more
  std::vector<int> ranks = {};
  int rank_of(std::uint16_t expert, std::int64_t token) const {
    const std::uint32_t begin = first[expert], count = first[expert + 1U] - begin;
    return ranks[begin + (count == 1 ? 0 : static_cast<std::uint32_t>(token) % count)];
  }
};
ExpertPlacement equal_shares(int experts, int ranks);
// `slots` per rank: the experts with the most load per copy get the slots that are left over, then
// the heaviest copies go to the least loaded ranks. At least as many slots as experts.
ExpertPlacement balanced_placement(const std::vector<std::uint64_t>& load, int ranks, int slots);

// Copies that pass one rank, by link and direction.
struct LaneCopies {
  std::uint64_t nic_out = 0;
  std::uint64_t nic_in = 0;
  std::uint64_t nvlink_out = 0;
  std::uint64_t nvlink_in = 0;
  std::uint64_t most_nic() const { return std::max(nic_out, nic_in); }
  std::uint64_t most_nvlink() const { return std::max(nvlink_out, nvlink_in); }
};
struct RankTraffic {
  std::uint64_t received = 0;  // (token, expert) pairs for its experts, from itself too
  LaneCopies flat = {};
  LaneCopies dedup = {};
};
struct RoutedTraffic {
  int ranks_per_node = 1;
  std::vector<RankTraffic> ranks = {};
  std::vector<std::uint64_t> load = {};    // pairs by expert
  std::vector<std::uint32_t> matrix = {};  // pairs from rank to rank; empty where it was not asked
  std::uint64_t pairs() const;
  int hottest() const;       // the rank that receives most
  double imbalance() const;  // its pairs over the mean; 1 where nothing is received
};

struct RoutedPlaces {
  int nodes = 1;
  int ranks_per_node = 1;
  int ranks() const { return nodes * ranks_per_node; }
};
// The experts of `routing` divide over the ranks of the placement.
RoutedTraffic route(const Routing& routing, const ExpertPlacement& placement,
                    const RoutedPlaces& places, bool with_matrix = false);

// Dispatch and combine as the slowest rank sees them; combine is dispatch turned round.
struct RoutedPrice {
  MoeTransfer dispatch = {};
  MoeTransfer combine = {};
  int slowest = 0;      // the rank with the most NIC bytes, or NVLink bytes where those count
  double nic_mean = 0;  // copies out of a rank
  std::uint64_t nic_most = 0;
  double nvlink_mean = 0;  // likewise, to its neighbours
  std::uint64_t nvlink_most = 0;
  core::Duration time() const { return dispatch.time() + combine.time(); }
};
RoutedPrice price_routed(const RoutedTraffic& traffic, const MoeLayer& layer, const MoeLinks& links,
                         MoeScheme scheme);

}  // namespace comm_probe::model
