#include "diagnose/trace_merge.h"

#include <gtest/gtest.h>

#include "model/merge.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using diagnose::PricedRate;
using diagnose::RateBasis;

PricedRate small_calls() {
  PricedRate rate;
  rate.rate.kind = torch::CollectiveClass::kAllReduce;
  rate.rate.bytes = 25'000;
  rate.rate.ranks = 8;
  rate.rate.best = 12'000;
  return rate;
}

// Golden G5-06, G5-07 and G5-09: 1000 calls of 25 KB, 10 us of steps each.
TEST(TraceMerge, AThousandSmallCallsPayTheirStepsOnce) {
  PricedRate rate = small_calls();
  const auto ledger = model::price({model::Op::kAllReduce, 8, 25_KB}, {model::Algorithm::kRing},
                                   {.link = {10_us / 14, 450_GBps}});
  ASSERT_TRUE(ledger.ok());
  rate.ledger = *ledger;
  rate.basis = RateBasis::kGiven;
  const auto saving = diagnose::merge_saving(rate, 1000);
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->merged, 1u);
  EXPECT_DOUBLE_EQ(saving->bytes.count(), 25e6);
  EXPECT_NEAR(saving->saved.in_ms(), 9.99, 1e-9);
  // the same as the model of merging says
  const auto merge = model::merge({model::Op::kAllReduce, 8, 25_KB}, 1000,
                                  {model::Algorithm::kRing}, {.link = {10_us / 14, 450_GBps}});
  ASSERT_TRUE(merge.ok());
  EXPECT_NEAR(merge->saved().in_ms(), saving->saved.in_ms(), 1e-9);
  EXPECT_NEAR(merge->merged.bandwidth().in_us(), 97.2222222, 1e-6);
}

TEST(TraceMerge, WithoutReferenceTheFastestCallIsTheLatency) {
  const auto saving = diagnose::merge_saving(small_calls(), 100);
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->basis, RateBasis::kNone);
  EXPECT_NEAR(saving->saved.in_us(), 99 * 12, 1e-9);
}

TEST(TraceMerge, NothingToSaveOrNothingKnown) {
  EXPECT_FALSE(diagnose::merge_saving(small_calls(), 1));
  PricedRate unknown = small_calls();
  unknown.rate.bytes = std::nullopt;
  EXPECT_FALSE(diagnose::merge_saving(unknown, 100));
  PricedRate large = small_calls();
  large.rate.bytes = 1 << 20;  // its time is not latency
  EXPECT_FALSE(diagnose::merge_saving(large, 100));
}

}  // namespace
}  // namespace comm_probe::test
