// The overlap probe on the GPUs of this machine.
#include "measure/overlap/overlap.h"

#include <gtest/gtest.h>

#include "measure/engines/cuda/all_reduce.h"
#include "measure/engines/cuda/visible_devices.h"

namespace comm_probe::measure {
namespace {

TEST(OverlapHere, ProductsAreRightAndASynchroniseCosts) {
  if (const auto absent = cuda::missing_all_reduce()) GTEST_SKIP() << absent->one_line();
  if (cuda::visible_devices()->driver_runs_here)
    GTEST_SKIP() << "the driver is in use in this process";
  const auto overlap = measure_overlap({}, [](const std::string&) {});
  ASSERT_TRUE(overlap.ok()) << overlap.error().one_line();
  EXPECT_EQ(overlap->wrong, 0U);
  EXPECT_GT(overlap->gemm_alone.gemm.median, 0);
  EXPECT_GT(overlap->comm_alone.comm.median, 0);
  EXPECT_LT(overlap->together.span.median, overlap->synchronised.span.median);
  EXPECT_LT(overlap->together.exposed.median, overlap->synchronised.exposed.median);
}

}  // namespace
}  // namespace comm_probe::measure
