// Who is behind the last place in a collective? A rank that came late to one group because it
// waited for somebody in another group passes that on: tensor-parallel peers of a slow GPU are late
// to their data-parallel groups too, without fault.
//
//   of a collective with last rank r and margin m, since the group's members were in step:
//   w_r = what r waited in other groups, w = the median of that over the other members
//   w_r - w >= m / 2   ->  blamed is whom r waited for most there; else r itself
// The members are in step after a collective that all reached together, or in which they stood
// still until the last came; where compute hid the waiting, the lead of the early ones goes on.
//
// Worked example (tests/unit/torch/blame_test.cc): ranks {0,1} and {2,3} compute together, {0,2}
// and {1,3} reduce; rank 3 is slow: rank 2 waits for it and is last in {0,2}: blamed is rank 3.
#pragma once

#include "torch/waits.h"

namespace comm_probe::torch {

struct Blame {
  int rank = -1;         // index; -1: the meeting was not accepted
  bool excused = false;  // it was late before the window
};

// For every meeting; `times` are those of the same meetings. `activities` of the ranks, or none.
std::vector<Blame> blame_of(const CommJob& job, const Matching& matching,
                            const std::vector<MeetingTimes>& times,
                            const std::vector<RankActivity>& activities);

}  // namespace comm_probe::torch
