// Which kernels of different ranks belong to one collective, and do their ends prove it?
//
// Key, best first (traces.md 2.3): sequence number within the member set; Comms Id; the k-th call
// of the member set in launch order, after the lag in [-8, 8] under which most calls agree (ranks
// do not start to record at the same call). Calls without metadata go by stream and order, and the
// ends alone decide.
//
// A meeting is accepted where every end lies within max(50 us, shortest duration) of the median
// end, on aligned clocks. offset_r = median over accepted meetings of (end_r - end_reference),
// chained through shared groups; ends are used because all members end together, starts never. A
// drift is fitted only where the window is longer than 2 s and the residual halves by it.
//
// Worked example (tests/unit/torch/match_test.cc): two ranks of dlrm_2of128, whose recording left
// out calls: 10 pairs, 4 accepted; clocks of ranks 2 and 3 of case 09: +1830 us.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "torch/comm_calls.h"

namespace comm_probe::torch {

// One rank's part of a collective.
struct Attendance {
  int rank = 0;            // index in CommJob::ranks
  std::uint32_t call = 0;  // index in RankCalls::calls
  std::int64_t duration = 0;
  // The rank's first meeting of the window: if it comes last here, it was late before the window.
  bool is_first = false;
};

enum class MeetingState : std::uint8_t {
  kAccepted,
  kEndsApart,  // the ends do not agree: these are not one collective
  kMismatch,   // operation, type or size differ under one key
  kOneSided,   // broadcast, reduce: ranks leave when their own part is done
  kAlone,      // of the given ranks only one has it
};

// A collective, as far as the given ranks show it.
struct Meeting {
  int group = 0;
  MeetingState state = MeetingState::kAlone;
  std::vector<Attendance> present = {};  // by rank
  std::int64_t end_spread = 0;           // after clock alignment
};

// The clock of one rank against the first rank that it can be compared with.
struct ClockOffset {
  int rank = 0;               // index in CommJob::ranks
  int reference = 0;          // index; itself where there is nothing to compare with
  std::int64_t offset = 0;    // rank's clock - reference's clock
  std::int64_t residual = 0;  // median of |end_r - end_reference - offset|
  std::int64_t error = 0;     // of the offset: 95 % of chance, at least the grid of the time stamps
  std::size_t meetings = 0;   // it rests on; 0: not aligned
  double drift = 0;           // ns per ns; the offset is that at `origin`
  std::int64_t origin = 0;

  std::int64_t at(std::int64_t time) const;
};

struct Matching {
  // By time of the end on the aligned clock, then by group.
  std::vector<Meeting> meetings = {};
  std::vector<ClockOffset> clocks = {};  // one per rank of the job
  std::size_t accepted = 0;
  std::size_t rejected = 0;  // ends apart
  std::size_t unpaired = 0;  // calls of synchronising collectives that only one given rank has

  double rejected_share() const {
    return accepted + rejected == 0
               ? 0
               : static_cast<double>(rejected) / static_cast<double>(accepted + rejected);
  }
};

Matching match(const CommJob& job);

// The call behind an attendance.
inline const CommCall& call_of(const CommJob& job, const Attendance& attendance) {
  return job.ranks[static_cast<std::size_t>(attendance.rank)].calls[attendance.call];
}

}  // namespace comm_probe::torch
