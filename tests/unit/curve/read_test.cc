#include <gtest/gtest.h>

#include "curve/curve.h"

namespace comm_probe::curve {
namespace {

core::Result<Reading> read_text(const std::string& text, const std::string& name = "table.txt") {
  core::Input input = core::Input::from_memory(name, text);
  return read(input);
}

Reading reading_of(const std::string& text, const std::string& name = "table.txt") {
  auto reading = read_text(text, name);
  EXPECT_TRUE(reading.ok()) << (reading.ok() ? "" : reading.error().one_line());
  return reading.ok() ? *reading : Reading{};
}

TEST(Curve, ReadsTheWorkedExample) {
  const auto reading = reading_of(
      "   1048576  262144  float  sum  -1   119.1   8.81   16.51   0   121.5   8.63   16.18   0\n");
  ASSERT_EQ(reading.curves.size(), 1U);
  ASSERT_EQ(reading.curves[0].rows.size(), 1U);
  const Row& row = reading.curves[0].rows[0];
  EXPECT_EQ(row.bytes, core::Bytes::of(1048576));
  EXPECT_EQ(row.count, 262144U);
  EXPECT_EQ(row.type, "float");
  EXPECT_EQ(row.redop, "sum");
  EXPECT_EQ(row.root, -1);
  EXPECT_EQ(row.out_of_place->time, core::Duration::from_us(119.1));
  EXPECT_EQ(row.out_of_place->algbw, core::Bandwidth::from_GBps(8.81));
  EXPECT_EQ(row.out_of_place->busbw, core::Bandwidth::from_GBps(16.51));
  EXPECT_EQ(row.out_of_place->wrong, 0);
  EXPECT_EQ(row.in_place->time, core::Duration::from_us(121.5));
  EXPECT_EQ(row.in_place->algbw, core::Bandwidth::from_GBps(8.63));
  EXPECT_EQ(row.in_place->busbw, core::Bandwidth::from_GBps(16.18));
  EXPECT_EQ(row.line, 1U);
  EXPECT_TRUE(reading.caveats.empty());
}

}  // namespace
}  // namespace comm_probe::curve
