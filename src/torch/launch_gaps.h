// Does the device wait for the host to launch? (spec traces 2.7, K9)
//
// A gap is a time in which the device does nothing, ended by some work. It is the host's where that
// work was launched after the gap began: nothing was queued. Otherwise the work was queued and had
// to wait for an event, a stream or the hardware. Time in which the host stood still in a call
// that waits (host_blocks.h) is taken off. Gaps of more than 1 ms are those of a host that did
// something else (data loading, Python, sleep), not of one that launches too slowly.
//
//   work [0, 10) and [40, 50), the second launched at 25: a gap of 30 ns, the host's
#pragma once

#include "torch/killer_hits.h"

namespace comm_probe::torch {

struct LaunchGaps {
  std::int64_t idle = 0;
  KillerHits host = {};        // gaps of at most 1 ms that are the host's
  std::int64_t away = 0;       // longer ones
  std::int64_t queued = 0;     // gaps behind which work was queued
  std::size_t launches = 0;    // of device work with a known launch, one per graph
  std::size_t into_empty = 0;  // of them: their stream had nothing left to do
};
// `blocked`: where the host stood still, in any order.
LaunchGaps launch_gaps(const Trace& trace, Intervals blocked);

}  // namespace comm_probe::torch
