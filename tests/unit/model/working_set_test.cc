#include "model/working_set.h"

#include <gtest/gtest.h>

namespace comm_probe::model {
namespace {

using namespace core::literals;
using core::Bytes;
using core::Duration;

// the worked example of working_set.h
TEST(TimeCurve, InterpolatesInLogLog) {
  const TimeCurve curve({{1_KiB, 1_us}, {4_KiB, 4_us}});
  EXPECT_NEAR(curve.at(2_KiB).in_us(), 2, 1e-9);
  EXPECT_NEAR(curve.at(8_KiB).in_us(), 8, 1e-9);
  EXPECT_NEAR(curve.at(4_KiB).in_us(), 4, 1e-9);
}

TEST(TimeCurve, BelowTheFirstPointIsALatency) {
  const TimeCurve curve({{64_B, 1_us}, {4_KiB, 4_us}});
  EXPECT_EQ(curve.at(1_B), 1_us);
  EXPECT_EQ(curve.at(0_B), Duration());
  EXPECT_EQ(TimeCurve().at(1_KiB), Duration());
}

// the middle point was measured faster than a smaller message
TEST(TimeCurve, NeverFalls) {
  const TimeCurve curve({{1_KiB, 3_us}, {2_KiB, 1_us}, {4_KiB, 5_us}});
  EXPECT_NEAR(curve.at(2_KiB).in_us(), 3, 1e-9);
  Duration last;
  for (double bytes = 1; bytes < 1e9; bytes *= 1.3) {
    const Duration now = curve.at(Bytes::of(bytes));
    EXPECT_GE(now, last) << bytes;
    last = now;
  }
}

TEST(TimeCurve, LeavesOutWhatIsNoPoint) {
  const TimeCurve curve({{0_B, 1_us}, {1_KiB, Duration()}, {2_KiB, 2_us}, {2_KiB, 9_us}});
  ASSERT_EQ(curve.points().size(), 1U);
  EXPECT_EQ(curve.at(4_KiB), 4_us);
}

}  // namespace
}  // namespace comm_probe::model
