#include "core/keyed_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace comm_probe::core {
namespace {

// Appendix A of the paper, and the first vectors of its reference implementation.
TEST(KeyedHash, VectorsOfThePaper) {
  const HashKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (char byte = 0; byte < 15; ++byte) text += byte;
  EXPECT_EQ(keyed_hash(key, text), 0xa129ca6149be45e5U);
  EXPECT_EQ(keyed_hash(key, ""), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(keyed_hash(key, text.substr(0, 1)), 0x74f839c593dc67fdU);
  EXPECT_EQ(keyed_hash(key, text.substr(0, 8)), 0x93f5f5799a932462U);
}

TEST(KeyedHash, EveryWordIsAKey) {
  EXPECT_NE(keyed_hash(key_of(""), "node07"), keyed_hash(key_of("x"), "node07"));
  EXPECT_EQ(keyed_hash(key_of("x"), "node07"), keyed_hash(key_of("x"), "node07"));
}

}  // namespace
}  // namespace comm_probe::core
