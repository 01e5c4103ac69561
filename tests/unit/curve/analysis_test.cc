#include "curve/analysis.h"

#include <gtest/gtest.h>

namespace comm_probe::curve {
namespace {

using namespace core::literals;
using core::Bandwidth;
using core::Bytes;
using core::Duration;

Timing timing_of(double bytes, double us, double factor) {
  const double algbw = bytes / us / 1e3;
  return {Duration::from_us(us),
          Bandwidth::from_GBps(algbw),
          Bandwidth::from_GBps(algbw * factor),
          0.0,
          {}};
}

Curve ring_of_eight() {
  Curve curve;
  curve.op = model::Op::kAllReduce;
  curve.ranks = 8;
  for (double size = 8; size <= 1 << 30; size *= 2) {
    Row row;
    row.bytes = Bytes::of(size);
    row.out_of_place = timing_of(size, 140 + size * 1.75 / 25e3, 1.75);
    row.in_place = row.out_of_place;
    curve.rows.push_back(row);
  }
  return curve;
}

TEST(Analysis, FindsTheRingThatWasPrinted) {
  const Analysis analysis = analyse(ring_of_eight());
  ASSERT_TRUE(analysis.fit);
  EXPECT_NEAR(analysis.fit->alpha.in_us(), 10, 1e-6);
  EXPECT_NEAR(analysis.fit->beta.in_GBps(), 25, 1e-6);
  EXPECT_NEAR(analysis.fit->knee.count(), 2e6, 1);
  EXPECT_NEAR(analysis.shape.plateau->sustained.in_GBps(), 24.9, 0.1);
}

TEST(Analysis, TakesTheFactorFromTheColumnsWhereRanksAreUnknown) {
  Curve curve = ring_of_eight();
  curve.ranks.reset();
  const Analysis analysis = analyse(curve);
  EXPECT_TRUE(analysis.share_known);
  EXPECT_NEAR(analysis.wire_share, 1.75, 1e-9);
  EXPECT_NEAR(analysis.fit->beta.in_GBps(), 25, 1e-6);
  EXPECT_NEAR(analysis.fit->alpha.in_us(), 140, 1e-6);  // the whole latency: steps are not known
}

TEST(Analysis, UsesInPlaceTimesWhereThereAreNoOthers) {
  Curve curve = ring_of_eight();
  for (Row& row : curve.rows) row.out_of_place.reset();
  const Analysis analysis = analyse(curve);
  EXPECT_TRUE(analysis.in_place_only);
  EXPECT_NEAR(analysis.fit->beta.in_GBps(), 25, 1e-6);
}

TEST(Analysis, SurvivesNothing) {
  const Analysis empty = analyse(Curve{});
  EXPECT_FALSE(empty.fit);
  EXPECT_FALSE(empty.share_known);
  Curve zeros;
  zeros.rows.resize(3);
  EXPECT_FALSE(analyse(zeros).fit);
}

// Damaged texts hold any number; none may overflow.
TEST(Analysis, SurvivesAbsurdTimes) {
  for (const double us : {1e-300, 1e-5, 1e300, 0.0}) {
    Curve curve = ring_of_eight();
    for (Row& row : curve.rows) {
      row.out_of_place->time = Duration::from_us(us);
      row.in_place.reset();
    }
    const Analysis analysis = analyse(curve);
    EXPECT_TRUE(analysis.points.empty()) << us;
  }
}

TEST(Analysis, OneRankMovesNothing) {
  Curve curve = ring_of_eight();
  curve.ranks = 1;
  for (Row& row : curve.rows) row.out_of_place->busbw = row.in_place->busbw = Bandwidth();
  EXPECT_FALSE(analyse(curve).share_known);
}

// c22: 939.58 GB/s algbw and 936.93 busbw; 0.06 and 0.11 in the row before.
TEST(Analysis, PrintedFactorsAreRanges) {
  const auto large =
      printed_factor({1_us, Bandwidth::from_GBps(939.58), Bandwidth::from_GBps(936.93), {}, {}});
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->low, 0.9972, 1e-4);
  EXPECT_NEAR(large->high, 0.9972, 1e-4);
  const auto small =
      printed_factor({1_us, Bandwidth::from_GBps(0.06), Bandwidth::from_GBps(0.11), {}, {}});
  ASSERT_TRUE(small);
  EXPECT_NEAR(small->low, 1.615, 1e-3);
  EXPECT_NEAR(small->high, 2.091, 1e-3);
  EXPECT_FALSE(
      printed_factor({1_us, Bandwidth::from_GBps(0.01), Bandwidth::from_GBps(0.02), {}, {}}));
}

}  // namespace
}  // namespace comm_probe::curve
