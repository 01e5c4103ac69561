#include "measure/samples.h"

#include <gtest/gtest.h>

namespace comm_probe::measure {
namespace {

// the worked example of samples.h
TEST(Samples, MedianAndPercentiles) {
  const Summary s = summarize({100, 3, 1, 4, 2});
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.p10, 1.4);
  EXPECT_DOUBLE_EQ(s.p90, 61.6);
  EXPECT_EQ(s.blocks, 5);
  EXPECT_DOUBLE_EQ(s.spread(), 60.2 / 3);
}

TEST(Samples, NothingIsZero) {
  const Summary s = summarize({});
  EXPECT_EQ(s.median, 0);
  EXPECT_EQ(s.blocks, 0);
  EXPECT_EQ(s.spread(), 0);
}

TEST(Samples, OneValueHasNoSpread) {
  const Summary s = summarize({7});
  EXPECT_EQ(s.median, 7);
  EXPECT_EQ(s.spread(), 0);
}

}  // namespace
}  // namespace comm_probe::measure
