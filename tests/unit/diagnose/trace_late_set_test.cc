#include "diagnose/trace_late_set.h"

#include <gtest/gtest.h>

#include "comm_jobs.h"
#include "diagnose/trace_across.h"

namespace comm_probe::test {
namespace {

// Ten all_reduces of four ranks; `delay(rank, k)` us late. Activities as long as the job, without
// work of their own.
template <class Delay>
torch::AcrossRanks job_with(Delay delay) {
  std::vector<std::vector<Span>> spans(4);
  for (std::int64_t k = 0; k < 10; ++k) {
    std::int64_t latest = 0;
    for (int rank = 0; rank < 4; ++rank) latest = std::max(latest, delay(rank, k));
    for (int rank = 0; rank < 4; ++rank)
      spans[static_cast<std::size_t>(rank)].push_back(
          {2000 * k + delay(rank, k), 2000 * k + latest + 100});
  }
  torch::AcrossRanks across = torch::across_ranks(job_of(spans));
  for (int rank = 0; rank < 4; ++rank) {
    torch::RankActivity activity{.rank = rank};
    activity.end = 20'000'000;
    across.activities.push_back(std::move(activity));
  }
  return across;
}

TEST(TraceLateSet, RanksThatTakeTurnsInBeingLate) {
  // 300 us late both, one of them 5 us more
  const auto across = job_with([](int rank, std::int64_t k) -> std::int64_t {
    return rank < 2 ? 0 : 300 + (rank == 2 + k % 2 ? 5 : 0);
  });
  const auto set = diagnose::late_set(across);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->ranks, (std::vector<int>{2, 3}));
  EXPECT_GT(set->blamed, set->all_waiting * 9 / 10);
}

TEST(TraceLateSet, OneLateRankIsNoSet) {
  EXPECT_FALSE(diagnose::late_set(
      job_with([](int rank, std::int64_t) -> std::int64_t { return rank == 2 ? 300 : 0; })));
}

TEST(TraceLateSet, WaitingOfAllAlikeIsNoSet) {
  EXPECT_FALSE(diagnose::late_set(
      job_with([](int rank, std::int64_t k) -> std::int64_t { return k % 4 == rank ? 300 : 0; })));
}

// One rank that is late twice as much as another: that one is the straggler.
TEST(TraceLateSet, TheLatestOfTwoIsOne) {
  EXPECT_FALSE(diagnose::late_set(job_with([](int rank, std::int64_t) -> std::int64_t {
    return rank == 2 ? 600 : rank == 3 ? 300 : 0;
  })));
}

TEST(TraceLateSet, ShortWaitingMattersToNobody) {
  EXPECT_FALSE(diagnose::late_set(job_with([](int rank, std::int64_t k) -> std::int64_t {
    return rank < 2 ? 0 : 30 + (rank == 2 + k % 2 ? 1 : 0);
  })));
}

}  // namespace
}  // namespace comm_probe::test
