#include "model/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace comm_probe::model {
namespace {

TEST(Paired, SixSlowerSizesGiveTheSmallestP) {
  const std::vector<double> ratios = {1.10, 1.11, 1.12, 1.13, 1.14, 1.15};
  const auto test = paired_test(ratios);
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->p, 0.03125, 1e-12);
  EXPECT_NEAR(test->ratio, 1.125, 0.001);
  EXPECT_GE(test->low, 1.10 - 1e-12);
  EXPECT_LE(test->high, 1.15 + 1e-12);
}

TEST(Paired, FivePairsNeverPassFivePercent) {
  const std::vector<double> ratios = {2, 2.1, 2.2, 2.3, 2.4};
  EXPECT_NEAR(paired_test(ratios)->p, 0.0625, 1e-12);
}

// W+ = 40 of 45 for nine differences: p = 0.039 (tables of the signed-rank test: the critical sum
// of the smaller side for n = 9 and 0.05 two-sided is 5).
TEST(Paired, AgreesWithTheTables) {
  std::vector<double> ratios;
  for (int rank = 1; rank <= 9; ++rank)
    ratios.push_back(std::exp(rank == 5 ? -0.01 * rank : 0.01 * rank));
  EXPECT_NEAR(paired_test(ratios)->p, 0.0390625, 1e-12);
  ratios[0] = std::exp(-0.01);  // the smaller sum becomes 6: not significant any more
  EXPECT_GT(paired_test(ratios)->p, 0.05);
}

TEST(Paired, NoDifferenceIsNoDifference) {
  const std::vector<double> same(12, 1.0);
  const auto test = paired_test(same);
  EXPECT_EQ(test->p, 1);
  EXPECT_EQ(test->ratio, 1);
  std::vector<double> scattered;
  for (int i = 0; i < 20; ++i) scattered.push_back(i % 2 == 0 ? 1.01 : 1 / 1.01);
  EXPECT_GT(paired_test(scattered)->p, 0.5);
  EXPECT_NEAR(paired_test(scattered)->ratio, 1, 1e-3);
}

TEST(Paired, ExactAndApproximateAgreeWhereTheyMeet) {
  const auto shifted = [](int n) {
    std::vector<double> ratios;
    for (int i = 0; i < n; ++i) ratios.push_back(1 + 0.001 * ((i * 37) % 41 - 14));
    return ratios;
  };
  const auto exact = paired_test(shifted(40));
  const auto approximate = paired_test(shifted(41));
  EXPECT_NEAR(exact->p, approximate->p, 0.02);
  EXPECT_NEAR(exact->low, approximate->low, 0.002);
  EXPECT_NEAR(exact->high, approximate->high, 0.002);
}

TEST(Paired, SwappingTheRunsInvertsTheRatio) {
  const std::vector<double> ratios = {1.02, 0.99, 1.05, 1.04, 1.03, 1.01, 1.06, 0.98};
  std::vector<double> inverted;
  for (const double ratio : ratios) inverted.push_back(1 / ratio);
  const auto a = paired_test(ratios), b = paired_test(inverted);
  EXPECT_NEAR(a->ratio * b->ratio, 1, 1e-12);
  EXPECT_NEAR(a->low * b->high, 1, 1e-12);
  EXPECT_NEAR(a->p, b->p, 1e-12);
}

TEST(Paired, TooFewPairsGiveNothing) {
  const std::vector<double> ratios = {1.1, 1.1, 1.1};
  EXPECT_FALSE(paired_test(ratios));
}

}  // namespace
}  // namespace comm_probe::model
