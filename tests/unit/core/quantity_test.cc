#include "core/quantity.h"

#include <gtest/gtest.h>

#include "core/units.h"

namespace comm_probe::core {
namespace {

// the worked example of core.h, golden G1-01
TEST(Quantity, RingOfEightRanks) {
  const Duration time = 14 * 10_us + 1_GB * 1.75 / 25_GBps;
  EXPECT_NEAR(time.in_ms(), 70.14, 1e-9);
}

TEST(Quantity, BitsAndBytesAreApart) {
  EXPECT_DOUBLE_EQ((400_Gbps).in_GBps(), 50);
  EXPECT_EQ((1_GiB).count(), 1073741824.0);
  EXPECT_EQ((1_GB).count(), 1e9);
}

TEST(QuantityDeathTest, RefusesWhatHasNoMeaning) {
  EXPECT_EXIT(Bytes::of(1) - Bytes::of(2), testing::ExitedWithCode(4), "byte count is negative");
  EXPECT_EXIT(Bytes::of(1) / Bandwidth(), testing::ExitedWithCode(4),
              "division by a zero bandwidth");
}

TEST(Units, ParsesSizes) {
  const std::pair<const char*, double> cases[] = {
      {"8", 8},
      {"64K", 65536},
      {"64KB", 64000},
      {"64KiB", 65536},
      {"8G", 8589934592.0},
      {"1GB", 1e9},
      {"1.1GB", 1.1e9},
      {"1e9", 1e9},
      {"25MiB", 26214400},
      {"0", 0},
      {" 4 KiB ", 4096},
      {"8PiB", 9007199254740992.0},
      {"8P", 9007199254740992.0},
      {"1PB", 1e15},
  };
  for (const auto& [text, bytes] : cases) {
    const Result<Bytes> parsed = parse_bytes(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().one_line();
    EXPECT_EQ(parsed->count(), bytes) << text;
  }
}

TEST(Units, RefusesSizes) {
  for (const char* text :
       {"", "8Q", "-1", "-0", "1.5", "1Gb", "nan", "inf", "1e30", "0x10", "K", "8 G G", "1e99999"})
    EXPECT_FALSE(parse_bytes(text).ok()) << text;
}

TEST(Units, ParsesTimesAndBandwidths) {
  EXPECT_DOUBLE_EQ(parse_duration("10us")->in_us(), 10);
  EXPECT_DOUBLE_EQ(parse_duration("3.5ms")->in_us(), 3500);
  EXPECT_DOUBLE_EQ(parse_bandwidth("25GB/s")->in_GBps(), 25);
  EXPECT_DOUBLE_EQ(parse_bandwidth("400Gb/s")->in_GBps(), 50);
  EXPECT_DOUBLE_EQ(parse_bandwidth("400Gbps")->in_GBps(), 50);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1GiB/s")->in_bytes_per_second(), 1073741824);
  for (const char* text : {"10", "-1us", "1e10s", "us", "10 parsecs", "nanus", "1e-20us"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  for (const char* text : {"25", "0GB/s", "-1GB/s", "25GB", "25Q/s", "1e30GB/s", "1e-9B/s"})
    EXPECT_FALSE(parse_bandwidth(text).ok()) << text;
}

TEST(Units, Prints) {
  EXPECT_EQ(format_bytes(65536_B), "64 KiB");
  EXPECT_EQ(format_bytes(1_GB), "1 GB");
  EXPECT_EQ(format_bytes(Bytes::of(1750000000)), "1.75 GB");
  EXPECT_EQ(format_bytes(Bytes::of(0)), "0 B");
  EXPECT_EQ(format_bytes(Bytes::of(8e-5)), "below 1 B");
  EXPECT_EQ(format_bytes(Bytes::of(9007199254740992.0)), "8 PiB");
  EXPECT_EQ(format_duration(Duration::from_us(144.58752)), "144.6 us");
  EXPECT_EQ(format_duration(Duration::from_us(70140)), "70.14 ms");
  EXPECT_EQ(format_duration(Duration::from_ns(80)), "80 ns");
  EXPECT_EQ(format_bandwidth(Bandwidth::from_GBps(24.9501)), "24.95 GB/s");
  EXPECT_EQ(format_number(0.0019960079), "0.001996");
  EXPECT_EQ(format_percent(0.1234), "12.3 %");
  // four digits that round up belong to the next unit
  EXPECT_EQ(format_bytes(Bytes::of(999999.9999)), "1 MB");
  EXPECT_EQ(format_duration(Duration::from_us(999.99999)), "1 ms");
  EXPECT_EQ(format_bandwidth(Bandwidth::from_GBps(0.99999999)), "1 GB/s");
  EXPECT_EQ(format_bytes(Bytes::of(999900)), "999.9 KB");
}

}  // namespace
}  // namespace comm_probe::core
