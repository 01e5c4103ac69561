#include "measure/overlap/overlap.h"

#include <gtest/gtest.h>

#include "measure/engines/cuda/gemm_shape.h"
#include "measure/gpu_walk.h"

namespace comm_probe::measure {
namespace {

Interval between(double begin_ms, double end_ms) {
  return {core::Duration::from_ms(begin_ms), core::Duration::from_ms(end_ms)};
}
double exposed_ms(const Interval& communication, const Interval& computation) {
  return exposed_part(communication, computation).in_seconds() * 1e3;
}

TEST(Overlap, ExposedIsWhatRunsBesideNothing) {
  EXPECT_NEAR(exposed_ms(between(1, 5), between(0, 4)), 1, 1e-9);
  EXPECT_NEAR(exposed_ms(between(0, 4), between(1, 5)), 1, 1e-9);
  EXPECT_NEAR(exposed_ms(between(1, 2), between(0, 4)), 0, 1e-9);
  EXPECT_NEAR(exposed_ms(between(0, 6), between(1, 5)), 2, 1e-9);
  EXPECT_NEAR(exposed_ms(between(0, 3), between(3, 7)), 3, 1e-9);
  EXPECT_NEAR(exposed_ms(between(5, 8), between(0, 4)), 3, 1e-9);
}

// The sum over k, one by one.
TEST(Overlap, ProductIsWhatItsMatricesMake) {
  for (const std::uint32_t size : {64U, 128U, 2048U})
    for (const auto& [i, j] : {std::pair{0U, 0U}, std::pair{1U, 2U}, std::pair{63U, 62U}}) {
      double sum = 0;
      for (std::uint32_t k = 0; k < size; ++k) sum += cuda::gemm_a(i, k) * cuda::gemm_b(k, j);
      EXPECT_EQ(cuda::gemm_c(size, i, j), sum) << size << " " << i << " " << j;
      EXPECT_LT(sum, 1 << 24);
    }
  EXPECT_EQ(cuda::gemm_c(64, 1, 2), 762);
}

// 60 s, less what the walk over the host's own links has (run.cc).
TEST(GpuWalk, QuickStagesFitAMinute) {
  int seconds = kGpuLinksQuickSeconds + 10;
  for (const StageEntry& stage : gpu_stages()) {
    seconds += stage.quick_seconds;
    EXPECT_LE(stage.quick_seconds, stage.seconds) << stage.name;
  }
  EXPECT_LT(seconds, 60);
}

}  // namespace
}  // namespace comm_probe::measure
