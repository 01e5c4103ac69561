// Floors, below which no algorithm of messages can be, whatever the schedule:
//   bandwidth  what must enter or leave a rank, or all ranks of a node together, over the ways that
//              it has. all_reduce among u of them: 2(u-1) S bytes leave them in all, and S enters
//              each; all_gather, reduce_scatter: what k of n ranks do not hold, (n-k)/n S;
//              all_to_all: k(n-k)/n S; broadcast, reduce, send_recv: S.
//   latency    what a rank knows reaches one other rank at least: the smallest alpha, once.
// A result below its floor ends the program as an error of ours.
#pragma once

#include <algorithm>
#include <span>

#include "model/collective.h"

namespace comm_probe::sim {

struct Floors {
  core::Duration bandwidth = {};
  core::Duration latency = {};
  core::Duration both() const { return std::max(bandwidth, latency); }
};

// A rank, or the ranks of one node, and what can leave it.
struct Unit {
  int ranks = 1;
  core::Bandwidth out = {};
};
// Zero for fewer than two units.
core::Duration bandwidth_floor(const model::Collective& of, std::span<const Unit> units);

// Fails the program where `time` is below `floors`, but for rounding.
void check_floors(core::Duration time, const Floors& floors);

}  // namespace comm_probe::sim
