#include "model/fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace comm_probe::model {
namespace {

using namespace core::literals;
using core::Bandwidth;
using core::Bytes;
using core::Duration;

std::vector<FitPoint> doubling(Bytes first, Bytes last, Duration latency, double per_byte_seconds) {
  std::vector<FitPoint> points;
  for (Bytes size = first; size <= last; size = size * 2)
    points.push_back({size, latency + Duration::from_seconds(size.count() * per_byte_seconds)});
  return points;
}

// The worked example of fit.h: golden G1-01's ring.
std::vector<FitPoint> ring_of_eight() { return doubling(8_B, 1_GiB, 140_us, 1.75 / 25e9); }

TEST(Fit, FindsTheRingItWasMadeOf) {
  const auto fit = fit_line(ring_of_eight(), ring_shape(Op::kAllReduce, 8));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency.in_us(), 140, 1e-6);
  EXPECT_NEAR(fit->alpha.in_us(), 10, 1e-6);
  EXPECT_NEAR(fit->beta.in_GBps(), 25, 1e-6);
  EXPECT_NEAR(fit->knee.count(), 2e6, 1);
  EXPECT_NEAR(fit->plateau90.count(), 18e6, 10);
  EXPECT_NEAR(fit->r2, 1, 1e-9);
  EXPECT_EQ(fit->used, 28);
  EXPECT_TRUE(fit->latency_known);
  EXPECT_TRUE(fit->beta_known);
  EXPECT_NEAR(fit->predict(1_GB).in_us(), 70140, 0.01);
}

// knee = n * alpha * beta for every op whose share is (n-1)/n-like (golden G6-01, G6-03).
TEST(Fit, KneeIsRanksTimesAlphaTimesBeta) {
  struct Case {
    Op op;
    int ranks;
    double alpha_us, beta_GBps, knee_MB;
  };
  for (const Case& c :
       {Case{Op::kAllReduce, 8, 3, 400, 9.6}, Case{Op::kAllReduce, 64, 10, 45, 28.8},
        Case{Op::kAllGather, 8, 3, 400, 9.6}, Case{Op::kAllToAll, 8, 3, 400, 9.6},
        Case{Op::kReduceScatter, 64, 10, 45, 28.8}}) {
    const FitShape shape = ring_shape(c.op, c.ranks);
    const auto fit = fit_line(doubling(8_B, 8_GiB, Duration::from_us(c.alpha_us) * shape.steps,
                                       shape.wire_share / (c.beta_GBps * 1e9)),
                              shape);
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->alpha.in_us(), c.alpha_us, 1e-6);
    EXPECT_NEAR(fit->knee.count() / 1e6, c.knee_MB, 1e-6);
  }
}

TEST(Fit, AColdFirstRowIsNotTheLatency) {
  auto points = ring_of_eight();
  points.front().time = 983_us;  // c06 of the field curves
  const auto fit = fit_line(points, ring_shape(Op::kAllReduce, 8));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency.in_us(), 140, 1e-3);
  EXPECT_EQ(fit->points.front().use, PointUse::kColdStart);
  EXPECT_EQ(fit->used, 27);
}

// Sizes past the hump that are faster than the line contradict its beta.
TEST(Fit, APointFasterThanBetaIsNamed) {
  auto points = ring_of_eight();
  EXPECT_EQ(fit_line(points, ring_shape(Op::kAllReduce, 8))->faster_than_beta(), nullptr);
  points.back().time = points.back().time / 2;
  const auto fit = fit_line(points, ring_shape(Op::kAllReduce, 8));
  ASSERT_TRUE(fit.has_value());
  ASSERT_NE(fit->faster_than_beta(), nullptr);
  EXPECT_EQ(fit->faster_than_beta()->point.bytes, points.back().bytes);
  EXPECT_NEAR(fit->busbw(*fit->faster_than_beta()).in_GBps(), 50, 1);
}

// One-shot and two-shot of the closed forms; one rank takes no step.
TEST(Fit, StepsAreThoseOfTheAlgorithm) {
  EXPECT_EQ(algorithm_shape(Op::kAllReduce, Algorithm::kRing, 8).steps, 14);
  EXPECT_EQ(algorithm_shape(Op::kAllReduce, Algorithm::kRecursiveDoubling, 8).steps, 3);
  EXPECT_LT(algorithm_shape(Op::kAllReduce, Algorithm::kOneShot, 8).steps, 3);
  EXPECT_FALSE(algorithm_shape(Op::kAllReduce, Algorithm::kRing, 1).has_steps);
}

TEST(Fit, AHumpIsNotNoise) {
  auto points = ring_of_eight();
  for (auto& point : points)
    if (point.bytes >= 64_KiB && point.bytes <= 1_MiB) point.time = point.time * 5;
  const auto fit = fit_line(points, ring_shape(Op::kAllReduce, 8));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency.in_us(), 140, 0.5);
  EXPECT_NEAR(fit->beta.in_GBps(), 25, 0.1);
  for (const auto& point : fit->points)
    EXPECT_EQ(point.use == PointUse::kOffLine,
              point.point.bytes >= 64_KiB && point.point.bytes <= 1_MiB)
        << point.point.bytes.count();
}

TEST(Fit, OneWildPointMovesNothing) {
  for (std::size_t wild = 3; wild < 28; ++wild) {
    auto points = ring_of_eight();
    points[wild].time = points[wild].time * 3;
    const auto fit = fit_line(points, ring_shape(Op::kAllReduce, 8));
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->latency.in_us(), 140, 1) << wild;
    EXPECT_NEAR(fit->beta.in_GBps(), 25, 0.5) << wild;
  }
}

TEST(Fit, ScatterOfTwoPercentStaysWithinTwoPercent) {
  auto points = ring_of_eight();
  unsigned state = 12345;
  for (auto& point : points) {
    state = state * 1664525U + 1013904223U;
    point.time = point.time * (1 + 0.04 * (static_cast<double>(state >> 8) / (1U << 24) - 0.5));
  }
  const auto fit = fit_line(points, ring_shape(Op::kAllReduce, 8));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency.in_us(), 140, 2.8);
  EXPECT_NEAR(fit->beta.in_GBps(), 25, 0.5);
  EXPECT_EQ(fit->used, 28);
}

TEST(Fit, SaysWhatTheSizesDoNotShow) {
  // f12: 8 B .. 256 B, all 93 us
  const auto small = fit_line(doubling(8_B, 256_B, 93_us, 1.875 / 40e9), {});
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->latency_known);
  EXPECT_FALSE(small->beta_known);
  // c15: 512 MiB .. 8 GiB, where 1 ms of latency does not show
  const auto large = fit_line(doubling(512_MiB, 8_GiB, 100_us, 1.96875 / 386e9), {});
  ASSERT_TRUE(large);
  EXPECT_FALSE(large->latency_known);
  EXPECT_TRUE(large->beta_known);
}

TEST(Fit, RefusesWhatCannotBeFitted) {
  EXPECT_FALSE(fit_line({}, {}));
  const std::vector<FitPoint> one_size = {{8_B, 1_us}, {8_B, 2_us}};
  EXPECT_FALSE(fit_line(one_size, {}));
  const std::vector<FitPoint> two_sizes = {{8_B, 119_us}, {16_B, 160_us}, {16_B, 161_us}};
  EXPECT_FALSE(fit_line(two_sizes, {}));
  const std::vector<FitPoint> no_times = {{8_B, 0_us}, {16_B, 0_us}, {0_B, 3_us}};
  EXPECT_FALSE(fit_line(no_times, {}));
}

// A time that falls with the size gives no negative slope.
TEST(Fit, StaysPhysical) {
  const std::vector<FitPoint> falling = {{1_MB, 30_us}, {2_MB, 29_us}, {4_MB, 28_us}};
  const auto fit = fit_line(falling, {});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency.in_us(), 29, 0.5);
  EXPECT_FALSE(fit->beta_known);
  const std::vector<FitPoint> on_no_line = {{1_MB, 30_us}, {2_MB, 20_us}, {4_MB, 10_us}};
  EXPECT_FALSE(fit_line(on_no_line, {}));
  const std::vector<FitPoint> steeper = {{1_MB, 100_us}, {2_MB, 205_us}, {4_MB, 415_us}};
  const auto steep = fit_line(steeper, {});
  ASSERT_TRUE(steep);
  EXPECT_EQ(steep->latency.in_us(), 0);
  EXPECT_TRUE(std::isfinite(steep->beta.in_GBps()));
}

TEST(Fit, ShapeOfALinkIsOneStep) {
  EXPECT_EQ(ring_shape(Op::kSendRecv, 2).steps, 1);
  EXPECT_EQ(ring_shape(Op::kAllReduce, 1).steps, 1);
  EXPECT_EQ(ring_shape(Op::kAllReduce, 2).wire_share, 1);
}

}  // namespace
}  // namespace comm_probe::model
