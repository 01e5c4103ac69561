#include "core/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace comm_probe::core {
namespace {

TEST(WholeNumber, IsTheWholeText) {
  EXPECT_EQ(whole_number<int>("17"), 17);
  EXPECT_EQ(whole_number<int>("-17"), -17);
  EXPECT_EQ(whole_number<double>("0.5"), 0.5);
  EXPECT_EQ(whole_number<unsigned>("1f", 16), 31u);
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", " 17", "17 ", "+17", "17x", "0x11", "1.5", "2147483648"})
    EXPECT_EQ(whole_number<int>(text), std::nullopt) << text;
  EXPECT_EQ(whole_number<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(whole_number<double>("0,5"), std::nullopt);
}

}  // namespace
}  // namespace comm_probe::core
