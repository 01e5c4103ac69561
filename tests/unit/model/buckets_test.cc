#include "model/buckets.h"

#include <gtest/gtest.h>

#include "model/merge.h"
#include "model/rdma.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

const Fabric kNdr = {.link = {10_us, 50_GBps}};

BucketLedger priced(const BucketRule& rule, const Fabric& fabric) {
  const auto ledger = price_buckets(rule, 8, {}, fabric);
  EXPECT_TRUE(ledger.ok()) << ledger.error().one_line();
  return *ledger;
}

TEST(Buckets, FirstIsSmallAndTheRestIsKept) {
  const BucketLedger ledger = priced({.gradients = 100_MiB}, kNdr);
  EXPECT_EQ(ledger.count, 5);  // 1 + 25 + 25 + 25 + 24 MiB
  EXPECT_EQ(ledger.first.collective.bytes, 1_MiB);
  EXPECT_EQ(ledger.full.collective.bytes, 25_MiB);
  EXPECT_EQ(ledger.last.collective.bytes, 24_MiB);
  EXPECT_NEAR(ledger.latency.in_us(), 5 * 140, 1e-9);
  // the bytes are those of one call, only the steps are paid five times
  EXPECT_NEAR((ledger.total - ledger.in_one.time()).in_us(), 4 * 140, 1e-6);
}

TEST(Buckets, OneSmallBucket) {
  const BucketLedger ledger = priced({.gradients = 100_KB, .backward = 1_ms}, kNdr);
  EXPECT_EQ(ledger.count, 1);
  EXPECT_NEAR(ledger.total.in_us(), ledger.in_one.time().in_us(), 1e-9);
  // full at the end of the backward pass only
  EXPECT_NEAR(ledger.overlap->exposed.in_us(), ledger.total.in_us(), 1e-9);
  EXPECT_EQ(priced({}, kNdr).count, 0);
}

// A backward pass much longer than the communication hides all but the last bucket; none hides
// nothing.
TEST(Buckets, OverlapIsBoundedByTheLastBucket) {
  const BucketLedger slow = priced({.gradients = 100_MiB, .backward = 1_s}, kNdr);
  EXPECT_NEAR(slow.overlap->exposed.in_us(), slow.last.time().in_us(), 1e-6);
  const BucketLedger none = priced({.gradients = 100_MiB, .backward = core::Duration()}, kNdr);
  EXPECT_NEAR(none.overlap->exposed.in_us(), none.total.in_us(), 1e-6);
  EXPECT_NEAR(none.overlap->hidden_share, 0, 1e-9);
}

TEST(Buckets, RefusesWhatNeverEnds) {
  EXPECT_FALSE(price_buckets({.gradients = 1_GB, .cap = core::Bytes()}, 8, {}, kNdr).ok());
  EXPECT_FALSE(price_buckets({.gradients = 1_GB, .cap = 1_B}, 8, {}, kNdr).ok());
  EXPECT_FALSE(price_buckets({.gradients = 1_GB}, 0, {}, kNdr).ok());
}

TEST(Merge, PaysTheStepsOnce) {
  const auto merged = merge({Op::kAllReduce, 8, 25_KB}, 1000, {}, kNdr);
  ASSERT_TRUE(merged.ok());
  EXPECT_NEAR(merged->saved().in_ms(), 999 * 0.140, 1e-9);
  EXPECT_FALSE(merge({Op::kAllReduce, 8, 25_KB}, 0, {}, kNdr).ok());
}

// the table of the InfiniBand timer, in ms
TEST(Rdma, Timers) {
  const std::pair<int, double> rows[] = {{8, 1.05},      {10, 4.19},      {12, 16.8},
                                         {14, 67.109},   {16, 268.},      {18, 1073.742},
                                         {20, 4294.967}, {22, 17179.869}, {31, 8796093.}};
  for (const auto& [t, ms] : rows)
    EXPECT_NEAR((*local_ack_timeout(t))->in_ms(), ms, 5e-3 * ms) << t;
  EXPECT_FALSE(local_ack_timeout(0)->has_value());
  EXPECT_FALSE(time_to_retry_exceeded(0, 7)->has_value());
  EXPECT_FALSE(local_ack_timeout(32).ok());
  EXPECT_FALSE(local_ack_timeout(-1).ok());
  EXPECT_FALSE(time_to_retry_exceeded(20, 8).ok());
  // golden G3-16: NCCL through 2.22 waits 7.5 s, later releases 30 s
  EXPECT_NEAR((*time_to_retry_exceeded(18, 7))->in_seconds(), 7.516, 1e-3);
}

}  // namespace
}  // namespace comm_probe::model
