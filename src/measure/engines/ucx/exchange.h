// What the two processes of the ucx engine share beside UCX: their addresses and keys at the start,
// a place to meet, and the samples. Made before they are forked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "measure/engines/local/shared_memory.h"
#include "measure/engines/local/two_processes.h"

namespace comm_probe::measure::ucx {

inline constexpr int kMostBlocks = 32;
inline constexpr std::size_t kMostBytes = 8192;  // of an address, a key, a description

// One size, as the origin saw it.
struct SizeResult {
  std::int32_t iterations = 0;
  std::uint64_t wrong = 0;
  std::int64_t preemptions = 0;
  double seconds[kMostBlocks] = {};  // of one transfer, one per block
  double in_flight = 0;              // seconds per transfer where a window of them is under way
  double registration = 0;           // seconds of ucp_mem_map
  double withdrawal = 0;             // seconds of ucp_mem_unmap
  // Of a scattered transfer: one small piece of many, all bytes as one message, its own posting.
  double piece = 0, contiguous = 0, posting = 0;
};

struct Shared {
  struct Side {
    std::uint64_t memory;  // address of what the other one reaches
    std::size_t address_size, key_size;
    char address[kMostBytes];
    char key[kMostBytes];
  };
  local::TwoProcesses both;
  Side sides[2];
  char library[64];
  char description[kMostBytes];  // of the endpoint of rank 0
  std::uint32_t moves_cuda_memory;
  std::atomic<std::uint64_t> wrong;     // that the target found
  std::atomic<std::uint32_t> finished;  // sizes
};

class Exchange {
 public:
  static core::Result<Exchange> make(std::size_t sizes);
  Shared& shared() const { return *reinterpret_cast<Shared*>(memory_.data()); }
  SizeResult& result(std::size_t size) const;

 private:
  explicit Exchange(local::SharedMemory memory) : memory_(std::move(memory)) {}
  local::SharedMemory memory_;
};

}  // namespace comm_probe::measure::ucx
