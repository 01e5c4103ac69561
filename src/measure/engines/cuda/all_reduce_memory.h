// Where everything lies that the ranks of an all_reduce read and write of each other. A process
// makes one allocation for all ranks that it drives, so that one IPC handle per process is enough;
// every process computes the same offsets in it.
//
// Of a rank: its Signals, send, recv, and the memory of the three algorithms (all_reduce_call.h):
// a staged copy of the message, one slice of 1/n of it, n - 1 slots of a slice.
//
// Worked example (tests/unit/cuda/all_reduce_memory_test.cc): 1000 bytes on 4 ranks are 63 packs of
// 16 bytes, slices of 16 packs (256 bytes), slots of 768 bytes. Three ranks on two processes: 0 on
// the first, 1 and 2 on the second.
#pragma once

#include <cstdint>
#include <span>

#include "measure/engines/cuda/all_reduce_call.h"
#include "measure/engines/cuda/driver_abi.h"

namespace comm_probe::measure::cuda {

class AllReduceMemory {
 public:
  AllReduceMemory(std::uint64_t message_bytes, int ranks, int processes);

  int ranks() const { return ranks_; }
  int processes() const { return processes_; }
  // Ranks of a process: first_rank(p) up to first_rank(p + 1).
  int first_rank(int process) const { return process * ranks_ / processes_; }
  int ranks_of(int process) const { return first_rank(process + 1) - first_rank(process); }
  int process_of(int rank) const;
  // Of the allocation that a process makes.
  std::uint64_t bytes(int process) const;
  std::uint64_t slice_bytes() const { return slice_; }

  // A call with the addresses of all ranks; `bases` are the allocations, by process, as the calling
  // process sees them.
  AllReduceCall call_over(std::span<const Address> bases) const;

 private:
  std::uint64_t rank_bytes() const;

  int ranks_;
  int processes_;
  std::uint64_t message_;
  std::uint64_t slice_;
};

}  // namespace comm_probe::measure::cuda
