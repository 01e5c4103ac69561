// What the processes of one all_reduce run share on the host: the handles of their GPU memory, a
// barrier, the samples, and the first error. Made before they are forked (shared_memory.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/result.h"
#include "measure/engines/cuda/driver_abi.h"
#include "measure/engines/local/shared_memory.h"

namespace comm_probe::measure::cuda {

inline constexpr int kMostSampleBlocks = 32;

struct ProcessFacts {
  IpcHandle handle;
  std::int32_t pid;
  std::int32_t device;
  std::int32_t driver_version;
  std::uint32_t resident;  // blocks that fit its GPU at a time, of the algorithm that needs most
  std::uint32_t multiprocessors;
  char name[128];  // "NVIDIA H200"
  char bus[32];    // "0000:1b:00.0"
};

// Of one size, out of place or in place.
struct ProcessSamples {
  std::int32_t iterations;
  std::uint64_t wrong;
  double floor_seconds;  // of a call without data
  double seconds[kMostSampleBlocks];
};

// What a process says whose peer has failed; the world keeps the peer's own error.
core::Error lost_another();

class AllReduceWorld {
 public:
  static core::Result<AllReduceWorld> make(int processes, std::size_t steps);

  // Waits until all processes are here. False: one of them has failed.
  bool meet() const;
  // Only the first counts.
  void fail(const core::Error& error) const;
  std::optional<core::Error> failure() const;

  ProcessFacts& facts(int process) const;
  ProcessSamples& samples(std::size_t step, bool in_place, int process) const;
  // Steps that a process has finished.
  std::atomic<std::uint32_t>& finished(int process) const;
  // Calls in a sample; the first process decides.
  std::atomic<std::int32_t>& iterations() const;

 private:
  struct Board;
  AllReduceWorld(local::SharedMemory memory, int processes)
      : memory_(std::move(memory)), processes_(processes) {}
  Board& board() const;

  local::SharedMemory memory_;
  int processes_;
};

}  // namespace comm_probe::measure::cuda
