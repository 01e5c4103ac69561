// What a finished (or ended) run becomes: rows from the samples on the board, the circumstances,
// and who was the first to give up.
#pragma once

#include <vector>

#include "measure/engines/local/processes.h"
#include "measure/engines/nccl/board.h"
#include "measure/engines/nccl/capture.h"
#include "measure/engines/nccl/layout.h"
#include "measure/engines/nccl/library.h"
#include "measure/engines/nccl/meeting.h"

namespace comm_probe::measure::nccl {

// What the forked processes are started with; they inherit it.
struct Start {
  const Plan& plan;
  const Layout& layout;
  const std::vector<Amount>& amounts;
  const Library& library;
  const Capture& capture;
  const Board& board;
  LocalListener listener = {};
};

// Fails where a rank could not begin, with what it says.
core::Result<Run> outcome_of(const Start& start, const local::Ended& ended);

}  // namespace comm_probe::measure::nccl
