#include "measure/rank_samples.h"

#include <gtest/gtest.h>

#include "measure/call.h"

namespace comm_probe::measure {
namespace {

TEST(RankSamples, TheMedianOfTheMeansCounts) {
  Plan plan;
  plan.blocks = 3;
  const std::vector<RankSamples> ranks = {{20, 1, false, 2, {1e-6, 2e-6, 9e-6}},
                                          {20, 3, false, 0, {3e-6, 2e-6, 9e-6}}};
  const Timing timing = timing_of(plan, ranks);
  EXPECT_DOUBLE_EQ(timing.time.in_us(), 2);
  EXPECT_DOUBLE_EQ(timing.fastest.in_us(), 2);
  EXPECT_DOUBLE_EQ(timing.slowest.in_us(), 9);
  EXPECT_EQ(timing.wrong, 4U);
  EXPECT_EQ(timing.preemptions, 2);
  plan.average = RankAverage::kMin;
  EXPECT_DOUBLE_EQ(timing_of(plan, ranks).fastest.in_us(), 1);
  plan.check = false;
  EXPECT_FALSE(timing_of(plan, ranks).wrong.has_value());
}

TEST(RankSamples, BlocksAreFilledAndKeptShort) {
  EXPECT_EQ(iterations_for(20e-6), 20);  // as nccl-tests
  EXPECT_EQ(iterations_for(1e-6), 200);  // 200 us
  EXPECT_EQ(iterations_for(6e-3), 10);   // 60 ms
  EXPECT_EQ(iterations_for(1), 1);
  EXPECT_EQ(iterations_for(1e-12), 2000);
}

TEST(RankSamples, InPlaceIsThePartOfThisRank) {
  Call call = {.op = model::Op::kAllGather, .element = Element::kF32, .count = 5};
  std::byte buffer[80];
  EXPECT_EQ(in_place(call, 2, buffer).send, buffer + 40);
  EXPECT_EQ(in_place(call, 2, buffer).recv, buffer);
  call.op = model::Op::kReduceScatter;
  EXPECT_EQ(in_place(call, 3, buffer).recv, buffer + 60);
  EXPECT_EQ(in_place(call, 3, buffer).send, buffer);
  call.op = model::Op::kAllReduce;
  EXPECT_EQ(in_place(call, 3, buffer).recv, in_place(call, 3, buffer).send);
}

}  // namespace
}  // namespace comm_probe::measure
