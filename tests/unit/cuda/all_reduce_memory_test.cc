#include "measure/engines/cuda/all_reduce_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace comm_probe::measure::cuda {
namespace {

std::uint64_t number(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

// The worked example of the header.
TEST(AllReduceMemory, SlicesAreWholePacks) {
  EXPECT_EQ(AllReduceMemory(1000, 4, 1).slice_bytes(), 256u);
  EXPECT_EQ(AllReduceMemory(1, 8, 1).slice_bytes(), 16u);
  EXPECT_EQ(AllReduceMemory(0, 8, 1).slice_bytes(), 0u);
}

TEST(AllReduceMemory, RanksAreDealtInOrder) {
  const AllReduceMemory memory(1000, 3, 2);
  EXPECT_EQ(memory.ranks_of(0), 1);
  EXPECT_EQ(memory.ranks_of(1), 2);
  EXPECT_EQ(memory.process_of(0), 0);
  EXPECT_EQ(memory.process_of(1), 1);
  EXPECT_EQ(memory.process_of(2), 1);
}

struct Part {
  std::uint64_t begin, bytes;
};

// Nothing of a rank overlaps anything of another one, and everything lies in the allocation.
TEST(AllReduceMemory, PartsLieApartInsideTheAllocations) {
  for (const int processes : {1, 2, 3, 8})
    for (const std::uint64_t message : {0, 1, 17, 4096, 1000003}) {
      const AllReduceMemory memory(message, 8, processes);
      std::vector<Address> bases;
      for (int p = 0; p < processes; ++p) bases.push_back((p + 1ULL) << 40);
      const AllReduceCall call = memory.call_over(bases);
      std::vector<Part> parts;
      for (int rank = 0; rank < 8; ++rank) {
        const Address base = bases[static_cast<std::size_t>(memory.process_of(rank))];
        const std::uint64_t slice = memory.slice_bytes();
        for (const Part& part :
             {Part{number(call.signals[rank]), sizeof(Signals)},
              Part{number(call.send[rank]), message}, Part{number(call.recv[rank]), message},
              Part{number(call.staged[rank]), message}, Part{number(call.slices[rank]), slice},
              Part{number(call.slots[rank]), 7 * slice}}) {
          EXPECT_EQ(part.begin % 128, 0u);
          EXPECT_GE(part.begin, base);
          EXPECT_LE(part.begin + part.bytes, base + memory.bytes(memory.process_of(rank)));
          if (part.bytes > 0) parts.push_back(part);
        }
      }
      std::sort(parts.begin(), parts.end(),
                [](const Part& a, const Part& b) { return a.begin < b.begin; });
      for (std::size_t i = 1; i < parts.size(); ++i)
        EXPECT_LE(parts[i - 1].begin + parts[i - 1].bytes, parts[i].begin);
      EXPECT_EQ(call.ranks, 8);
    }
}

// The driver's IPC handle of a small allocation leads to the block that holds it.
TEST(AllReduceMemory, AllocationsAreLargeEnoughToBeTheirOwn) {
  EXPECT_EQ(AllReduceMemory(16, 2, 2).bytes(0) % (2u << 20), 0u);
  EXPECT_GE(AllReduceMemory(16, 2, 2).bytes(1), 2u << 20);
}

}  // namespace
}  // namespace comm_probe::measure::cuda
