// One process of a run: its ranks join a communicator, every size is called once and checked while
// NCCL logs what it chooses, then every size is timed. It writes what it saw to the board and ends
// the whole process, with a note there, where something fails or nothing moves for `patience`.
//
// Timing as nccl-tests does it: barrier, `iterations` calls on each rank's stream, wait until the
// streams are done, host clock / iterations. With -G the calls are captured once and the graph is
// launched that often.
#pragma once

#include "measure/engines/nccl/board.h"
#include "measure/engines/nccl/capture.h"
#include "measure/engines/nccl/layout.h"
#include "measure/engines/nccl/library.h"
#include "measure/engines/nccl/meeting.h"

namespace comm_probe::measure::nccl {

// Exit statuses of a rank's process; why stands in its note.
inline constexpr int kFailedStatus = 70;
inline constexpr int kHungStatus = 75;

struct Assignment {
  const Plan& plan;
  const std::vector<Amount>& amounts;
  const Layout& layout;
  const Library& library;
  const Capture& capture;
  const Board& board;
  Meeting::Place meeting = {};
  int process = 0;  // of the layout
  int local = 0;    // of this machine
  int note = 0;     // of the board
};

// Returns where everything was done.
void run_process(const Assignment& assignment);

}  // namespace comm_probe::measure::nccl
