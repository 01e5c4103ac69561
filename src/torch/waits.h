// How long did each rank wait for the others, and for whom? Needs no clocks (traces.md 2.4).
//
// All members of a synchronising collective end together, so with d_r the kernel's duration on r:
//   transfer = min_r d_r      wait_r = d_r - transfer      last = the rank with the shortest kernel
//   caused_q = sum over the collectives where q came last of sum_r wait_r
// The kernel on r waits in [start, end - transfer) and transfers in [end - transfer, end); what
// compute hides of each part is taken off to get its exposed time. Where the second shortest is
// within max(5 us, 3 % of transfer) nobody was late.
//
// Worked example (tests/golden/trace): case 08, nine all_reduces of four ranks: rank 2 last in all,
// 37.255218 ms of waiting caused, 3.295549 ms of transfer.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "torch/activity.h"
#include "torch/match.h"

namespace comm_probe::torch {

struct MeetingTimes {
  std::int64_t transfer = 0;
  std::int64_t wait = 0;    // of all ranks
  std::int64_t margin = 0;  // second shortest - shortest
  int shortest = -1;        // index in CommJob::ranks; -1: the meeting was not accepted
  int blamed = -1;          // the same rank, or the one that it waited for elsewhere (blame.h)
  bool together = false;    // the margin says nothing
  bool excused = false;     // the last rank's first meeting: it was late before the window

  bool counts() const { return shortest >= 0; }
};

struct RankWaits {
  std::int64_t wait = 0;
  std::int64_t transfer = 0;
  std::int64_t exposed_wait = 0;
  std::int64_t exposed_transfer = 0;
  std::int64_t caused = 0;          // of all meetings where it was the shortest
  std::int64_t caused_excused = 0;  // of it: in its first meeting of the window
  std::int64_t blamed = 0;          // of meetings it is blamed for, excused ones left out
  int meetings = 0;
  int last_in = 0;  // shortest, close ones too

  RankWaits& operator+=(const RankWaits& other);
};

struct Waits {
  std::vector<MeetingTimes> meetings = {};                    // of Matching::meetings
  std::vector<RankWaits> ranks = {};                          // of CommJob::ranks
  std::map<std::int64_t, std::vector<RankWaits>> steps = {};  // by N of ProfilerStep#N; -1: none

  RankWaits total() const;  // of all ranks
};

// `activities`: of the same ranks in the same order; empty: nothing is exposed (Inspector logs).
Waits waits_of(const CommJob& job, const Matching& matching,
               const std::vector<RankActivity>& activities);

// The step a meeting belongs to: that of the first of its calls which has one; -1: none.
std::int64_t step_of(const CommJob& job, const Meeting& meeting);

}  // namespace comm_probe::torch
