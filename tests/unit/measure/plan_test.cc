#include <gtest/gtest.h>

#include "measure/measure.h"

namespace comm_probe::measure {
namespace {

std::vector<double> counts(const std::vector<core::Bytes>& sizes) {
  std::vector<double> values;
  for (const core::Bytes size : sizes) values.push_back(size.count());
  return values;
}

TEST(Plan, SizesByFactorAndByStep) {
  Plan plan;
  plan.begin = core::Bytes::of(8);
  plan.end = core::Bytes::of(32);
  EXPECT_EQ(counts(*sizes_of(plan)), (std::vector<double>{8, 16, 32}));
  plan.factor = 0;
  plan.step = core::Bytes::of(10);
  EXPECT_EQ(counts(*sizes_of(plan)), (std::vector<double>{8, 18, 28}));
  plan.begin = core::Bytes::of(0);
  EXPECT_EQ(counts(*sizes_of(plan)), (std::vector<double>{0, 10, 20, 30}));
}

TEST(Plan, OneSizeNeedsNoStep) {
  Plan plan;
  plan.begin = plan.end = core::Bytes::of(0);
  plan.factor = 0;
  EXPECT_EQ(counts(*sizes_of(plan)), (std::vector<double>{0}));
}

TEST(Plan, RefusesSizesThatNeverEnd) {
  Plan plan;
  plan.factor = 1;
  EXPECT_FALSE(sizes_of(plan));
  plan.factor = 2;
  plan.begin = core::Bytes::of(0);
  EXPECT_FALSE(sizes_of(plan));
  plan.begin = core::Bytes::of(16);
  plan.end = core::Bytes::of(8);
  EXPECT_FALSE(sizes_of(plan));
  plan.end = core::Bytes::of(1e15);
  plan.factor = 0;
  plan.step = core::Bytes::of(1);
  EXPECT_FALSE(sizes_of(plan));
}

// What nccl-tests means by the size of an all_gather: the total, cut down to whole elements per
// rank.
TEST(Plan, AmountOfDividedOperations) {
  Plan plan;
  plan.ranks = 3;
  plan.op = model::Op::kAllGather;
  EXPECT_EQ(amount_of(plan, core::Bytes::of(1000)).count, 83u);
  EXPECT_EQ(amount_of(plan, core::Bytes::of(1000)).bytes, core::Bytes::of(996));
  EXPECT_EQ(amount_of(plan, core::Bytes::of(8)).count, 0u);
  plan.op = model::Op::kAllReduce;
  EXPECT_EQ(amount_of(plan, core::Bytes::of(1003)).count, 250u);
  EXPECT_EQ(amount_of(plan, core::Bytes::of(1003)).bytes, core::Bytes::of(1000));
}

}  // namespace
}  // namespace comm_probe::measure
