#include <gtest/gtest.h>

#include "measure/engine.h"
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

// Ones added in bf16 stop at 256: 256 + 1 is 256 there. A maximum is one of its inputs.
TEST(Plan, RefusesToCheckWhatIsNotExact) {
  Plan plan;
  plan.element = Element::kBf16;
  EXPECT_FALSE(refuse_check(plan, 64));
  ASSERT_TRUE(refuse_check(plan, 65));
  EXPECT_EQ(refuse_check(plan, 65)->message,
            "results of bfloat16 sum on 65 ranks cannot be checked bit for bit; up to 64 can");
  plan.check = false;
  EXPECT_FALSE(refuse_check(plan, 65));
  plan.check = true;
  plan.reduction = Reduction::kMax;
  EXPECT_FALSE(refuse_check(plan, 65));
  plan.reduction = Reduction::kSum;
  plan.op = model::Op::kAllGather;
  EXPECT_FALSE(refuse_check(plan, 65));
  plan.op = model::Op::kReduceScatter;
  EXPECT_TRUE(refuse_check(plan, 65));
  plan.element = Element::kI32;
  EXPECT_FALSE(refuse_check(plan, 65));
  plan.reduction = Reduction::kProd;  // 2^(ranks / 8)
  EXPECT_TRUE(refuse_check(plan, 65));
}

// Every engine that takes so many ranks and checks by this data; found where its library is
// missing, too.
TEST(Plan, EveryEngineRefusesTheSame) {
  Plan plan;
  plan.element = Element::kF16;
  plan.begin = plan.end = core::Bytes::of(8);
  plan.ranks = 65;
  for (const char* name : {"mpi", "nccl"}) {
    const Engine* engine = find_engine(name);
    ASSERT_NE(engine, nullptr);
    plan.shares_one_gpu = std::string(name) == "nccl";
    const auto checked = engine->check(plan);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().hint, "add -c 0") << name << ": " << checked.error().message;
  }
}

}  // namespace
}  // namespace comm_probe::measure
