// A routing drawn at random where none was recorded: every token picks k different experts, expert
// number i of a shuffled order with weight 1 / i^s (zipf; s = 0: all alike). With a group limit of
// M a token first draws M nodes, all alike, then its experts among theirs. The same seed gives the
// same routing on every machine.
//
// Worked example (tests/unit/moe/skew_test.cc): 10^6 tokens, top-8 of 256, s = 0: distinct nodes
// of 8 within 0.1 % of 5.2947 (layer.h).
#pragma once

#include "model/moe/routing.h"

namespace comm_probe::model {

struct RoutingDraw {
  std::int64_t tokens = 0;  // of all ranks
  int topk = 0;
  int experts = 0;
  int nodes = 1;
  int group_limit = 0;  // 0: none
  double skew = 0;      // s
  std::uint64_t seed = 1;
};
inline constexpr double kMostSkew = 10;

// Of numbers that check_moe accepts.
Routing draw_routing(const RoutingDraw& draw);

}  // namespace comm_probe::model
