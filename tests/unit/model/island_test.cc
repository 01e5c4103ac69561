#include "model/island.h"

#include <gtest/gtest.h>

namespace comm_probe::model {
namespace {

using namespace core::literals;

TEST(Island, TwoNodesWithEightNdrNics) {
  const auto reduce = island_bound(Op::kAllReduce, 16, 2, 400_GBps);
  ASSERT_TRUE(reduce);
  EXPECT_NEAR(reduce->ring.in_GBps(), 400, 1e-9);
  EXPECT_NEAR(reduce->least.in_GBps(), 750, 1e-9);
  const auto shuffle = island_bound(Op::kAllToAll, 16, 2, 400_GBps);
  ASSERT_TRUE(shuffle);
  EXPECT_NEAR(shuffle->ring.in_GBps(), 93.75, 1e-9);
  EXPECT_NEAR(shuffle->least.in_GBps(), 93.75, 1e-9);
}

// Golden G6-11..13 give what a healthy run shows per GPU: 80-96 % of the NIC share of one GPU.
TEST(Island, AgreesWithTheReferenceLines) {
  EXPECT_NEAR(island_bound(Op::kAllReduce, 16, 2, 400_GBps)->ring.in_GBps() / 8, 50, 1e-9);
  EXPECT_NEAR(island_bound(Op::kAllReduce, 16, 2, 200_GBps)->ring.in_GBps() / 8, 25, 1e-9);
  EXPECT_NEAR(island_bound(Op::kAllReduce, 16, 2, 50_GBps)->ring.in_GBps() / 8, 6.25, 1e-9);
}

// Measured curves never pass the least: c01 471 and c03 487 GB/s on 8 x 50, c02 78.3 on 4 x 12.5.
TEST(Island, MeasuredCurvesStayBelowTheLeast) {
  EXPECT_GT(island_bound(Op::kAllReduce, 16, 2, 400_GBps)->least.in_GBps(), 487.09);
  EXPECT_GT(island_bound(Op::kAllReduce, 16, 2, 50_GBps)->least.in_GBps(), 78.33);
  // c55: all_to_all of two DGX A100 (8 x 25): 39.85 of 46.9
  EXPECT_NEAR(island_bound(Op::kAllToAll, 16, 2, 200_GBps)->least.in_GBps(), 46.875, 1e-9);
}

TEST(Island, SingleGpusAreIslandsToo) {
  const auto inside = island_bound(Op::kAllReduce, 8, 8, 450_GBps);
  EXPECT_NEAR(inside->ring.in_GBps(), 450, 1e-9);
  EXPECT_NEAR(inside->least.in_GBps(), 787.5, 1e-9);  // reduction in the switch
  EXPECT_NEAR(island_bound(Op::kAllGather, 8, 8, 450_GBps)->least.in_GBps(), 450, 1e-9);
}

TEST(Island, RefusesWhatHasNoIslands) {
  EXPECT_FALSE(island_bound(Op::kAllReduce, 8, 1, 400_GBps));
  EXPECT_FALSE(island_bound(Op::kAllReduce, 9, 2, 400_GBps));
  EXPECT_FALSE(island_bound(Op::kAllReduce, 1, 2, 400_GBps));
  EXPECT_FALSE(island_bound(Op::kAllReduce, 0, 0, 400_GBps));
}

}  // namespace
}  // namespace comm_probe::model
