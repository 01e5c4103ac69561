// What did a device do at each time? One state after the other without gaps: compute, communication
// hidden behind it, communication alone, copies alone, nothing.
//
// A trace of 100 000 kernels has more pieces than a screen has pixels. Above `most` pieces the time
// is cut into most / 5 parts of equal length, and within each the time of every state stands
// together: shares stay exact, the order within one part is lost.
//
//   K = [0, 100), C = [80, 130): {compute 80, hidden 20, exposed 30}
#pragma once

#include <cstdint>
#include <vector>

#include "core/timeline.h"
#include "torch/killer_hits.h"

namespace comm_probe::torch {

struct StateTrack {
  std::int64_t start = 0;
  std::vector<core::TimelinePiece> pieces = {};
  std::int64_t summed = 0;  // length of a part; 0: nothing was put together
};
StateTrack state_track(const DeviceTime& time, std::size_t most);

}  // namespace comm_probe::torch
