#include "torch/blame.h"

#include <gtest/gtest.h>

#include "torch/across.h"

namespace comm_probe::test {
namespace {

torch::CommCall call(int group, std::int64_t start_us, std::int64_t end_us) {
  torch::CommCall call;
  call.start = start_us * 1000;
  call.end = end_us * 1000;
  call.launch = call.start;
  call.group = group;
  call.kind = torch::CollectiveClass::kAllReduce;
  return call;
}

// Ranks {0,1} and {2,3} share layers, {0,2} and {1,3} share gradients. In each of five steps rank 3
// reaches the layers' all_reduce `late` us after the others.
torch::CommJob two_by_two(std::int64_t late) {
  torch::CommJob job;
  job.world = 4;
  job.kernels = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL"};
  job.groups = {{{0, 1}, 2, "tp0", ""},
                {{2, 3}, 2, "tp1", ""},
                {{0, 2}, 2, "dp0", ""},
                {{1, 3}, 2, "dp1", ""}};
  for (int rank = 0; rank < 4; ++rank) job.ranks.push_back({rank, {}});
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t begin = 10'000 * step;
    for (int rank = 0; rank < 4; ++rank) {
      const bool in_slow_pair = rank >= 2;
      const std::int64_t pair_end = begin + 1050 + (in_slow_pair ? late : 0);
      auto& calls = job.ranks[static_cast<std::size_t>(rank)].calls;
      calls.push_back(call(rank / 2, begin + 1000 + (rank == 3 ? late : 0), pair_end));
      calls.push_back(call(2 + rank % 2, pair_end + 100, begin + 1250 + late));
    }
  }
  return job;
}

TEST(Blame, APeerPassesOnWhatItWaited) {
  const auto across = torch::across_ranks(two_by_two(600));
  ASSERT_EQ(across.matching.accepted, 20u);
  // last in the gradients' collectives are both of the pair that waited
  EXPECT_GT(across.waits.ranks[2].caused, 0);
  EXPECT_GT(across.waits.ranks[3].caused, 0);
  std::size_t passed_on = 0;
  for (const auto& times : across.waits.meetings) {
    if (times.excused || times.together) continue;
    EXPECT_EQ(times.blamed, 3);
    passed_on += times.shortest == 2;
  }
  EXPECT_EQ(passed_on, 5u);
  // in the first step rank 3 was late before the window: excused, and so is what that led to
  EXPECT_EQ(across.waits.ranks[2].blamed, 0);
  // (rank 3 itself for its first meeting only: not for the 600 us of its group dp1)
  EXPECT_EQ(across.waits.ranks[3].blamed, 4 * 3 * 600'000 + 600'000);
  EXPECT_GT(across.waits.ranks[3].blamed, across.waits.ranks[3].caused);
}

TEST(Blame, OwnLatenessIsNotPassedOn) {
  // all pairs wait alike inside; rank 2 itself comes late to the gradients
  torch::CommJob job = two_by_two(0);
  for (auto* rank : {&job.ranks[0], &job.ranks[2]})
    for (auto& one : rank->calls)
      if (one.group == 2) {
        one.end += 500'000;
        if (rank->rank == 2) one.start += 500'000;
      }
  const auto across = torch::across_ranks(std::move(job));
  for (const auto& times : across.waits.meetings) {
    if (!times.counts() || times.together) continue;
    EXPECT_EQ(times.blamed, 2);
  }
}

}  // namespace
}  // namespace comm_probe::test
