// A team of ranks for the tests of the local engine: one process each, or one thread each (for the
// thread sanitizer, which sees one process only). Results come back through shared memory.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "measure/engines/local/comm.h"
#include "measure/engines/local/processes.h"

namespace comm_probe::measure::local {

// Cells that all ranks write and the test reads.
class Cells {
 public:
  explicit Cells(std::size_t count)
      : memory_(SharedMemory::map(count * sizeof(std::uint64_t), false).value()) {}
  std::atomic<std::uint64_t>& operator[](std::size_t index) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(memory_.data())[index];
  }

 private:
  SharedMemory memory_;
};

inline int core_count() { return static_cast<int>(allowed_cpus().size()); }

template <class Body>
Ended in_processes(int ranks, const Body& body, StandstillLimit limit = {}) {
  const auto memory = CommMemory::make(ranks);
  EXPECT_TRUE(memory.ok());
  return run_ranks(ranks,
                   [&](int rank) {
                     Comm comm(*memory, rank, core_count());
                     body(comm);
                   },
                   {.limit = limit});
}

template <class Body>
void in_threads(int ranks, const Body& body) {
  const auto memory = CommMemory::make(ranks);
  ASSERT_TRUE(memory.ok());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Comm comm(*memory, rank, core_count());
      body(comm);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace comm_probe::measure::local
