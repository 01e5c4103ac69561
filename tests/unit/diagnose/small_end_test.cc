#include "diagnose/small_end.h"

#include <gtest/gtest.h>

namespace comm_probe::diagnose {
namespace {

TEST(SmallEnd, OneThreadLaunchesInTurn) {
  EXPECT_NEAR(launches_of({.gpus_per_thread = 8}).in_us(), 45.6, 1e-9);
  EXPECT_EQ(launches_of({.threads = 8, .gpus_per_thread = 1}), core::Duration());
  EXPECT_EQ(launches_of({}), core::Duration());
}

TEST(SmallEnd, AGraphIsOneLaunch) {
  EXPECT_EQ(launches_of({.gpus_per_thread = 8, .graph = 1}), core::Duration());
  EXPECT_GT(launches_of({.gpus_per_thread = 8, .graph = 0}), core::Duration());
}

}  // namespace
}  // namespace comm_probe::diagnose
