#include "core/number_ranges.h"

#include <gtest/gtest.h>

namespace comm_probe::core {
namespace {

TEST(NumberRanges, AllOfThem) {
  EXPECT_EQ(number_ranges({3, 0, 1, 2, 8, 10, 11, 8}), "0-3, 8, 10, 11");
  EXPECT_EQ(number_ranges({}), "");
}

TEST(NumberRanges, ShortForASentence) {
  EXPECT_EQ(short_number_ranges({0, 1, 2, 3, 9}), "0-3, 9");
  std::vector<int> spread;
  for (int rank = 3; rank < 1024; rank += 8) spread.push_back(rank);
  EXPECT_EQ(short_number_ranges(spread), "3, 11, 19, ... 1019 (128)");
}

}  // namespace
}  // namespace comm_probe::core
