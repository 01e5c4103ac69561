// Where did computation stand still for a collective, although that has a stream of its own? (spec
// traces 2.8, K4 to K6, K10)
//
// A stall: the first work k of the compute stream that starts when collective c ends (1 us before
// to 10 us behind), was launched 10 us before that end, on a stream that had been free for 10 us.
// Its cause is a wait where the host queued one for c on the compute stream between the launches of
// c and k (a cuda_sync row that names both streams; in traces without such rows any
// cudaStreamWaitEvent); where there is none, the hardware queue held k back.
//
// Not stalls: work behind the last backward kernel of a step (the last bucket has to be awaited),
// all-to-all, tensor, sequence and context parallel groups (their next kernel needs the result).
//
// Worked example (tests/golden/trace): case 05, nine all_reduces each followed by its wait; six of
// them stall, three are the last bucket of their step.
#pragma once

#include "torch/killer_hits.h"
#include "torch/phases.h"

namespace comm_probe::torch {

struct StreamStalls {
  std::uint32_t compute_stream = kNone;  // with the most compute time, in Trace::streams
  std::size_t side_collectives = 0;      // on other streams
  std::size_t design_collectives = 0;    // of them: awaited at once by design
  // Awaited directly behind the call, with no work of the compute stream launched between, or with
  // a stall; lost: the stalls.
  KillerHits early_wait = {};
  std::size_t early_stalls = 0;
  KillerHits hardware_queue = {};
  bool has_wait_rows = false;

  KillerHits same_stream = {};        // collectives on the compute stream
  std::size_t same_stream_async = 0;  // of them: called with async_op
  // Launched in the backward pass by groups that have none in the forward pass: gradients.
  std::size_t same_stream_gradients = 0;

  // Exposed communication of gradients behind the last backward kernel of each step.
  KillerHits tail = {};
};
StreamStalls stream_stalls(const Trace& trace, const Phases& phases, const DeviceTime& time);

}  // namespace comm_probe::torch
