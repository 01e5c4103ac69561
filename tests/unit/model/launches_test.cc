#include "model/launches.h"

#include <gtest/gtest.h>

namespace comm_probe::model {
namespace {

// docs/measured/h200-nccl.txt: 8 B to 32 KiB on two H200 with -g 2.
TEST(Launches, TwoH200ByOneThread) {
  for (const double measured : {11.46, 11.10, 11.51})
    EXPECT_NEAR(launches_in_turn(2).in_us() / measured, 1, 0.03);
}

TEST(Launches, OneGpuPerThreadIsNotBound) {
  EXPECT_EQ(launches_in_turn(1), core::Duration());
  EXPECT_EQ(launches_in_turn(0), core::Duration());
}

}  // namespace
}  // namespace comm_probe::model
