#include "torch/waits.h"

#include <gtest/gtest.h>

#include "comm_jobs.h"
#include "torch/rates.h"

namespace comm_probe::test {
namespace {

using torch::BusyTime;
using torch::CommJob;

TEST(Activity, AWindowFallsIntoFourParts) {
  torch::RankActivity activity;
  activity.compute = BusyTime({{0, 10}});
  activity.compute_or_communication = BusyTime({{0, 10}, {5, 20}});
  activity.any = activity.compute_or_communication;
  const auto parts = activity.parts(0, 25);
  EXPECT_EQ(parts.compute, 10);
  EXPECT_EQ(parts.communication, 10);
  EXPECT_EQ(parts.idle, 5);
  EXPECT_EQ(parts.length(), 25);
  EXPECT_EQ(activity.parts(8, 12).compute, 2);
  EXPECT_EQ(activity.parts(12, 12).length(), 0);
}

// Four ranks, three all_reduces; rank 2 comes 300 us late to the last two.
CommJob late_rank() {
  std::vector<std::vector<Span>> spans(4);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    auto& own = spans[static_cast<std::size_t>(rank)];
    own.push_back({0, 100});
    for (const std::int64_t k : {1, 2})
      own.push_back({1000 * k + (rank == 2 ? 300 : 0), 1000 * k + 400});
  }
  return job_of(spans);
}

TEST(Waits, TheShortestKernelArrivedLastAndTransfers) {
  const CommJob job = late_rank();
  const auto matching = torch::match(job);
  const auto waits = torch::waits_of(job, matching, {});
  EXPECT_TRUE(waits.meetings[0].together);
  EXPECT_EQ(waits.meetings[1].shortest, 2);
  EXPECT_EQ(waits.meetings[1].transfer, 100'000);
  EXPECT_EQ(waits.meetings[1].wait, 900'000);
  EXPECT_EQ(waits.meetings[1].margin, 300'000);
  EXPECT_FALSE(waits.meetings[1].together);
  EXPECT_EQ(waits.ranks[2].caused, 1'800'000);
  EXPECT_EQ(waits.ranks[2].wait, 0);
  EXPECT_EQ(waits.ranks[0].wait, 600'000);
  EXPECT_EQ(waits.ranks[0].transfer, 300'000);
}

TEST(Waits, TheFirstMeetingOfAWindowIsExcused) {
  CommJob job = late_rank();
  for (auto& rank : job.ranks) rank.calls.erase(rank.calls.begin());
  const auto matching = torch::match(job);
  const auto waits = torch::waits_of(job, matching, {});
  EXPECT_TRUE(waits.meetings[0].excused);
  EXPECT_FALSE(waits.meetings[1].excused);
  EXPECT_EQ(waits.ranks[2].caused, 1'800'000);
  EXPECT_EQ(waits.ranks[2].caused_excused, 900'000);
}

TEST(Waits, ComputeHidesWhatItCovers) {
  const CommJob job = late_rank();
  const auto matching = torch::match(job);
  std::vector<torch::RankActivity> activities(4);
  // rank 0 computes through the first 200 us of its second collective and 50 us of its transfer
  activities[0].compute = BusyTime({{1'000'000, 1'200'000}, {1'350'000, 1'450'000}});
  const auto waits = torch::waits_of(job, matching, activities);
  EXPECT_EQ(waits.ranks[0].exposed_wait, 600'000 - 200'000);
  EXPECT_EQ(waits.ranks[0].exposed_transfer, 300'000 - 50'000);
}

TEST(Rates, TimeIsTransferAndGbIsDecimal) {
  std::vector<std::vector<Span>> spans(4);
  for (auto& rank : spans) rank.push_back({0, 260});
  spans[0][0].start = -40;  // waits
  CommJob job = job_of(spans);
  for (auto& rank : job.ranks) rank.calls[0].bytes = 26'214'400;
  const auto matching = torch::match(job);
  const auto rates = torch::rates_of(job, matching, torch::waits_of(job, matching, {}));
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_FALSE(rates[0].includes_waiting);
  EXPECT_NEAR(rates[0].algbw()->in_GBps(), 100.824615, 1e-6);
  EXPECT_NEAR(rates[0].busbw()->in_GBps(), 151.236923, 1e-6);
}

TEST(Rates, OneRankAloneGivesALowerBound) {
  const CommJob job = job_of({{{0, 100}}});
  const auto matching = torch::match(job);
  const auto rates = torch::rates_of(job, matching, torch::waits_of(job, matching, {}));
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_TRUE(rates[0].includes_waiting);
}

TEST(Rates, FactorsOfTheBusBandwidth) {
  using torch::CollectiveClass;
  EXPECT_DOUBLE_EQ(torch::busbw_factor(CollectiveClass::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(torch::busbw_factor(CollectiveClass::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(torch::busbw_factor(CollectiveClass::kGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(torch::busbw_factor(CollectiveClass::kBroadcast, 8), 1);
}

}  // namespace
}  // namespace comm_probe::test
