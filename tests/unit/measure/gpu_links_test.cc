#include "measure/link/gpu_links.h"

#include <gtest/gtest.h>

#include "measure/link/gpu_phases.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;

TEST(GpuLinks, RateIsBytesOfOneCopyOverItsMedianTime) {
  // 16 copies in 156 ms
  const auto rate = rate_of(Bytes::of(512 << 20), summarize({0.156 / 16}), "test");
  EXPECT_NEAR(rate.value.in_GBps(), 55.06, 0.005);
  EXPECT_EQ(rate.basis, core::Basis::kMeasured);
}

TEST(GpuLinks, FirstSampleDoesNotCount) {
  double next = 100;
  const auto summary = sampled(3, [&]() -> core::Result<double> {
    const double value = next;
    next = 1;
    return value;
  });
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->blocks, 3);
  EXPECT_EQ(summary->p90, 1);
}

TEST(GpuLinks, FailedSampleEndsTheSeries) {
  int calls = 0;
  const auto summary = sampled(3, [&]() -> core::Result<double> {
    if (++calls == 2) return core::missing_error("gone");
    return 1.0;
  });
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().message, "gone");
  EXPECT_EQ(calls, 2);
}

TEST(GpuLinks, LineThroughSizesIsAlphaAndBeta) {
  std::vector<GpuPoint> points;
  for (double bytes = 16; bytes <= 128 << 20; bytes *= 4)
    points.push_back({Bytes::of(bytes), summarize({7e-6 + bytes / 55e9})});
  const GpuLine line = line_through(points, "test");
  ASSERT_TRUE(line.alpha && line.beta);
  EXPECT_NEAR(line.alpha->value.in_us(), 7, 0.07);
  EXPECT_NEAR(line.beta->value.in_GBps(), 55, 0.55);
  EXPECT_FALSE(line_through({}, "test").beta.has_value());
}

TEST(GpuLinks, RepetitionsFillTwoMilliseconds) {
  EXPECT_EQ(repetitions_for(10e-6, 1000), 200);
  EXPECT_EQ(repetitions_for(10e-6, 50), 50);
  EXPECT_EQ(repetitions_for(1, 50), 1);
  EXPECT_EQ(repetitions_for(0, 50), 50);
}

TEST(GpuLinks, NamesSayWhichWayTheBytesGo) {
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kHostToDevice, .gpu = 1}).name(), "host -> GPU 1");
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kDeviceToHost, .gpu = 1}).name(), "GPU 1 -> host");
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kHostBothWays}).name(), "host - GPU 0");
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kLocalCopy, .peer = 0}).name(), "GPU 0");
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kPeerRead, .peer = 3}).name(), "GPU 0 -> GPU 3");
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kLoadLatency, .peer = 3}).name(), "GPU 0 <- GPU 3");
  EXPECT_EQ((GpuLink{.kind = GpuLinkKind::kLoadLatency}).name(), "GPU 0 <- host");
}

}  // namespace
}  // namespace comm_probe::measure
