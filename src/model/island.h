// How fast can a collective be when all its ranks stand in islands (nodes, or single GPUs) and all
// traffic between islands crosses one capacity per island and direction (all its NICs; its
// NVLinks)?
//
// Per byte of size, n ranks in N islands of g = n/N:
//                    ring, every link of the island in parallel   least that any algorithm moves
//   all_reduce       2(n-1)/n                                     1 (every island has to send its
//                                                                   part and receive the sum)
//   all_gather, rs   (n-1)/n                                      (N-1)/N
//   broadcast, reduce 1                                           1
//   all_to_all       g(n-g)/n                                     g(n-g)/n
//   send_recv        1                                            1
// busbw = busbw_factor * capacity / that; so a ring's busbw is the capacity itself, and a tree or a
// reduction in the switch may pass it, but never the least. Ring: golden G6-11..13 (per GPU there,
// times GPUs per node here); least: counting what an island cannot know.
//
// Worked example (tests/unit/model/island_test.cc repeats it): 16 ranks in 2 nodes with 8 x 50
// GB/s: ring all_reduce 400 GB/s busbw, at most 750 GB/s; all_to_all 93.75 GB/s.
#pragma once

#include <optional>

#include "model/collective.h"

namespace comm_probe::model {

struct IslandBound {
  core::Bandwidth ring = {};   // busbw of the ring, or of the direct exchange
  core::Bandwidth least = {};  // busbw that nothing can pass
};
// Nothing for one island, fewer ranks than islands, or islands of unequal size.
std::optional<IslandBound> island_bound(Op op, int ranks, int islands, core::Bandwidth capacity);

}  // namespace comm_probe::model
