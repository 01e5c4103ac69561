#include "measure/engines/local/token_bucket.h"

#include <gtest/gtest.h>

namespace comm_probe::measure::local {
namespace {

// The example of token_bucket.h: 1 MB at 100 MB/s is 10 ms.
TEST(TokenBucket, TheNextIsHadWhenTheFirstIsThrough) {
  TokenBucket bucket{};  // free since 0
  EXPECT_TRUE(bucket.take(0, 10'000'000));
  EXPECT_FALSE(bucket.take(9'999'999, 1));
  EXPECT_EQ(bucket.ready_at(), 10'000'000);
  EXPECT_TRUE(bucket.take(10'000'000, 10'000'000));
  EXPECT_EQ(bucket.ready_at(), 20'000'000);
}

// Who comes late catches up, by no more than the burst.
TEST(TokenBucket, WhatWasUnusedIsKeptForAWhile) {
  TokenBucket bucket{};  // free since 0
  EXPECT_TRUE(bucket.take(1'000'000, 500'000));
  EXPECT_EQ(bucket.ready_at(), 500'000);
  EXPECT_TRUE(bucket.take(100'000'000, 500'000));
  EXPECT_EQ(bucket.ready_at(), 100'000'000 - TokenBucket::kBurstNs + 500'000);
}

}  // namespace
}  // namespace comm_probe::measure::local
