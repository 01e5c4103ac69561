// When did the host stand still because a call waited for the device? (spec traces 2.8, K1 to K3)
//
// item: a copy from the device to pageable memory, or one to pinned memory inside of .item() and
// its kind with a synchronise call behind it in the same op (PyTorch from 2.4 copies scalars so).
// The host's time may lie in the copy call itself (6587 us for a copy of 2 us seen) and not in the
// synchronise call: the block reaches from the start of the copy call to the end of a synchronise
// call within the next 3 calls of the thread. aten::item without a copy is none: the number was on
// the host.
//
// synchronise: a synchronise call of 20 us or more that is not part of an item, with a launch
// behind it. Harmless are those of DDP's own statistics (inside of its forward, in the first ten
// iterations and in every hundredth) and those with no launch behind them in their step (a timer).
//
// allocator: calls that allocate or free, with no launch between them, as one hit; cudaFree waits
// for the whole device.
//
// Threads that launch no kernels (a data loader that pins memory, a writer of checkpoints) hold
// nobody up: of theirs only calls that allocate or free memory of the device count.
#pragma once

#include "torch/host_nest.h"
#include "torch/killer_hits.h"

namespace comm_probe::torch {

struct HostBlocks {
  KillerHits item = {};
  KillerHits synchronise = {};
  KillerHits timer = {};       // at the end of a step: a timer, a log line
  KillerHits statistics = {};  // of DDP
  KillerHits final = {};       // no launch behind them: the profiler's own, or the end of the job
  KillerHits allocator = {};
};
HostBlocks host_blocks(const Trace& trace, const HostNest& nest, const DeviceTime& time);

}  // namespace comm_probe::torch
