// Which rank wrote each dump? The name of a file is a claim; what the dump holds is the proof: a
// process lists only groups of which it is a member, and its sends and receives name its own place.
// Where both disagree the dump decides, and a caveat says so. A dump without a usable name takes
// the only rank that is left; else it stays unplaced and is never taken for a healthy one.
//
//   rank_1 holds "recv 2<-1" of group "0"  ->  it is rank 2's
//   dump_10 .. dump_13, all of ranks 0-3   ->  ranks 0-3 in the order of their numbers
#pragma once

#include <memory>
#include <vector>

#include "torch/digest.h"

namespace comm_probe::torch {

struct Placement {
  std::vector<std::shared_ptr<const Digest>> placed = {};
  std::vector<std::shared_ptr<const Digest>> unplaced = {};
  std::vector<core::Caveat> caveats = {};
};
Placement place(std::vector<std::shared_ptr<const Digest>> digests);

// The ranks that this dump may be of, sorted; nothing: it does not tell.
std::optional<std::vector<int>> possible_ranks(const Digest& digest);

}  // namespace comm_probe::torch
