#include "model/shape.h"

#include <gtest/gtest.h>

namespace comm_probe::model {
namespace {

using namespace core::literals;
using core::Bytes;
using core::Duration;

struct Measured {
  double bytes, out_us, in_us;
};
std::vector<ShapePoint> points_of(const std::vector<Measured>& rows) {
  std::vector<ShapePoint> points;
  for (const Measured& row : rows)
    points.push_back(
        {Bytes::of(row.bytes), Duration::from_us(row.out_us), Duration::from_us(row.in_us)});
  return points;
}
std::vector<ShapePoint> line(double latency_us, double GBps) {
  std::vector<ShapePoint> points;
  for (double size = 8; size <= 1 << 30; size *= 2)
    points.push_back({Bytes::of(size), Duration::from_us(latency_us + size / GBps / 1e3),
                      Duration::from_us(latency_us + size / GBps / 1e3)});
  return points;
}

TEST(Shape, OfAnIdealLineShowsNothing) {
  const Shape shape = describe_shape(line(20, 50), 1.75);
  EXPECT_EQ(shape.cold_rows, 0);
  EXPECT_TRUE(shape.steps.empty());
  EXPECT_TRUE(shape.humps.empty());
  EXPECT_FALSE(shape.collapse);
  EXPECT_FALSE(shape.jitter);
  ASSERT_TRUE(shape.left_end);
  EXPECT_NEAR(shape.left_end->latency.in_us(), 20, 0.01);
  ASSERT_TRUE(shape.plateau);
  EXPECT_TRUE(shape.plateau->is_saturated());
  EXPECT_NEAR(shape.plateau->sustained.in_GBps(), 87.5, 0.5);
  EXPECT_NEAR(*shape.again_ratio, 1, 1e-12);
}

// Rows of c61 of the field curves: the worked example of shape.h.
TEST(Shape, SeesTheHumpOfTheAlpsCurve) {
  const Shape shape = describe_shape(points_of({{8192, 42.88, 41.89},
                                                {16384, 50.63, 42.82},
                                                {32768, 50.82, 44.09},
                                                {65536, 139.9, 137.9},
                                                {131072, 193.9, 188.2},
                                                {262144, 347.9, 348.5},
                                                {524288, 674.2, 655.3},
                                                {1048576, 921.4, 912.3},
                                                {2097152, 129.2, 127.8},
                                                {4194304, 188.8, 188.6},
                                                {8388608, 299.9, 303.2},
                                                {16777216, 437.1, 428.4},
                                                {33554432, 631.8, 629.7},
                                                {67108864, 1087.0, 1087.9}}),
                                     1.75);
  ASSERT_EQ(shape.humps.size(), 1U);
  EXPECT_EQ(shape.humps[0].first.whole(), 131072U);
  EXPECT_EQ(shape.humps[0].last.whole(), 1048576U);
  EXPECT_EQ(shape.humps[0].worst.whole(), 1048576U);
  EXPECT_EQ(shape.humps[0].faster.whole(), 2097152U);
  EXPECT_NEAR(shape.humps[0].factor, 912.3 / 127.8, 1e-9);
  ASSERT_EQ(shape.steps.size(), 2U);
  EXPECT_EQ(shape.steps[0].kind, Step::Kind::kJump);
  EXPECT_EQ(shape.steps[0].after_bytes.whole(), 65536U);
  EXPECT_EQ(shape.steps[1].kind, Step::Kind::kDrop);
  EXPECT_EQ(shape.steps[1].after_bytes.whole(), 2097152U);
}

// Rows of f02: 29.5 GB/s falls to 5.3 from 64 MiB on.
TEST(Shape, SeesTheCollapse) {
  const Shape shape = describe_shape(points_of({{1048576, 1626.5, 2302.3},
                                                {2097152, 2325.3, 416.7},
                                                {4194304, 622.6, 625.8},
                                                {8388608, 992.6, 986.0},
                                                {16777216, 1334.9, 1336.5},
                                                {33554432, 2180.1, 2285.2},
                                                {67108864, 24410, 24425},
                                                {134217728, 49264, 48558},
                                                {268435456, 125807, 121575},
                                                {536870912, 193909, 192903}}),
                                     1.9166667);
  ASSERT_TRUE(shape.collapse);
  EXPECT_EQ(shape.collapse->peak_bytes.whole(), 33554432U);
  EXPECT_NEAR(shape.collapse->peak.in_GBps(), 29.50, 0.01);
  EXPECT_EQ(shape.collapse->first_slow.whole(), 67108864U);
  EXPECT_NEAR(shape.collapse->after.in_GBps(), 5.28, 0.03);
  EXPECT_EQ(shape.collapse->sizes, 4);
  EXPECT_EQ(shape.cold_rows, 2);
}

TEST(Shape, OneSlowLastRowIsAStepNotACollapse) {
  auto points = line(20, 50);
  points.back().time = points.back().time * 1.4;
  points.back().again = points.back().time;
  const Shape shape = describe_shape(points, 1);
  EXPECT_FALSE(shape.collapse);
  ASSERT_EQ(shape.steps.size(), 1U);
  EXPECT_EQ(shape.steps[0].kind, Step::Kind::kJump);
}

// c13: three latency modes; a hump would be invented from them.
TEST(Shape, JitterIsNotAHump) {
  const Shape shape = describe_shape(points_of({{8, 2193.5, 132.2},
                                                {16, 84.54, 576.2},
                                                {32, 121.9, 83.31},
                                                {64, 577.2, 129.1},
                                                {128, 88.38, 580.1},
                                                {256, 130.4, 92.28},
                                                {512, 575.6, 128.2},
                                                {1024, 89.06, 609.0},
                                                {2048, 132.3, 89.53},
                                                {4096, 587.4, 139.8}}),
                                     1.875);
  ASSERT_TRUE(shape.jitter);
  EXPECT_EQ(shape.cold_rows, 1);
  EXPECT_EQ(shape.jitter->compared, 9);
  EXPECT_EQ(shape.jitter->disagreeing, 9);  // the closest pair is 92.28 and 130.4
  EXPECT_NEAR(shape.jitter->fastest.in_us(), 83.31, 1e-9);
  EXPECT_NEAR(shape.jitter->slowest.in_us(), 609.0, 1e-9);
  EXPECT_TRUE(shape.humps.empty());
  EXPECT_TRUE(shape.steps.empty());
}

// An in-place column that is always faster by the same factor is no jitter.
TEST(Shape, ASteadyDifferenceIsNotJitter) {
  auto points = line(20, 50);
  for (auto& point : points) point.again = point.time * 0.5;
  const Shape shape = describe_shape(points, 1);
  EXPECT_FALSE(shape.jitter);
  EXPECT_NEAR(*shape.again_ratio, 0.5, 1e-12);
}

TEST(Shape, SaturationFollowsTheRingModel) {
  // knee 2 MB: at 18 MB exactly 90 %
  const auto at = [](double bytes) {
    return ShapePoint{Bytes::of(bytes), Duration::from_us(140 + 1.75 * bytes / 25e3), {}};
  };
  const std::vector<ShapePoint> points = {at(2.25e6), at(4.5e6), at(9e6), at(18e6)};
  EXPECT_NEAR(*describe_shape(points, 1.75).plateau->saturation, 0.9, 1e-9);
  const std::vector<ShapePoint> single = {at(18e6)};
  EXPECT_FALSE(describe_shape(single, 1.75).plateau->saturation);
  EXPECT_FALSE(describe_shape(single, 1.75).plateau->is_saturated());
}

// c16: the peak is not at the largest size, and that is no collapse.
TEST(Shape, ThePlateauIsNotItsPeak) {
  const Shape shape = describe_shape(points_of({{536870912, 1806.7, 1835.9},
                                                {1073741824, 3108.8, 2924.7},
                                                {2147483648, 5589.1, 5474.6},
                                                {4294967296, 10094, 10141},
                                                {8589934592, 20299, 20006}}),
                                     1.97222);
  EXPECT_EQ(shape.plateau->peak_bytes.whole(), 4294967296U);
  EXPECT_NEAR(shape.plateau->sustained.in_GBps(), 834.57, 0.1);
  EXPECT_TRUE(shape.plateau->is_saturated());
  EXPECT_FALSE(shape.collapse);
  EXPECT_FALSE(shape.left_end);
}

TEST(Shape, OfNothing) {
  const Shape shape = describe_shape({}, 1);
  EXPECT_FALSE(shape.plateau);
  EXPECT_FALSE(shape.left_end);
  EXPECT_FALSE(shape.again_ratio);
  const std::vector<ShapePoint> zeros = {{0_B, 3_us, {}}, {8_B, 0_us, {}}};
  EXPECT_FALSE(describe_shape(zeros, 1).plateau);
}

}  // namespace
}  // namespace comm_probe::model
