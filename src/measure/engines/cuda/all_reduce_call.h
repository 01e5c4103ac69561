// What a kernel of cuda/all_reduce.cu is told, and the memory in which the ranks signal each other:
// read by the engine (g++) and by the kernels (nvcc) alike, so plain data only.
//
// One launch holds the ranks that one process drives: blockIdx.y counts them from `first_rank`. A
// process per GPU launches one rank; a process that plays N virtual ranks on one GPU launches all
// of them at once, and the grid is small enough for all its blocks to be resident (occupancy.h):
// blocks wait for each other, so that one which is not resident would be waited for in vain.
//
// Block b of a rank talks to block b of the other ranks and to nobody else. Everything a launch
// needs to know about the launches before it lies in device memory (`barriers`, `messages`) and is
// advanced by the kernel: a captured graph is replayed without the host.
#pragma once

#include <cstdint>

namespace comm_probe::measure::cuda {

inline constexpr int kMostRanks = 8;
inline constexpr int kMostBlocks = 64;
inline constexpr int kMostThreads = 512;  // per block: the registers of 8 packs allow 512
inline constexpr int kPackBytes = 16;     // one load or store of a thread

// Of one block of one rank. Numbers only grow and wrap around after 2^32; a waiter asks whether the
// difference is not negative, so that a peer which is already one barrier ahead is no surprise and
// one set of flags is enough.
struct alignas(128) BlockSignals {
  // Written by the peers: the number of the last barrier that each has reached, and the number of
  // messages that the rank before has pushed (ring).
  std::uint32_t arrived[kMostRanks];
  std::uint32_t pushed;
  // Written by this block alone, in a line that no peer touches.
  alignas(128) std::uint32_t barriers;
  std::uint32_t messages;
};

// Why a block gave up waiting, of the first that did.
struct Failure {
  std::uint32_t happened;  // 0: nobody gave up
  std::uint32_t rank;      // who waited
  std::uint32_t peer;      // for whom
  std::uint32_t block;
  std::uint32_t wanted;  // the number it waited for
  std::uint32_t seen;    // the number that was there
};

struct Signals {
  BlockSignals block[kMostBlocks];
  Failure failure;
};

// Every address is one that the launching GPU can use: its own memory, a peer's, or a mapping of
// another process's memory. Buffers begin at a multiple of kPackBytes.
struct AllReduceCall {
  const void* send[kMostRanks];
  void* recv[kMostRanks];
  void* staged[kMostRanks];  // one-shot in place: a copy of the input, of the message's size
  void* slices[kMostRanks];  // two-shot: what this rank has reduced, one slice
  void* slots[kMostRanks];   // ring: ranks - 1 slices that the rank before pushes
  Signals* signals[kMostRanks];
  std::uint64_t count;       // elements
  std::uint64_t timeout_ns;  // after which a waiting block gives up
  std::int32_t first_rank;
  std::int32_t ranks;
};

}  // namespace comm_probe::measure::cuda
