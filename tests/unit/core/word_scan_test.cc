#include "core/word_scan.h"

#include <gtest/gtest.h>

namespace comm_probe::core {
namespace {

TEST(WordScan, FindsEachWordWhereverItStands) {
  const WordScan scan({"busbw", "BW average", " float "});
  EXPECT_TRUE(scan.finds("#bytes  BW average[Gb/sec]"));
  EXPECT_TRUE(scan.finds("busbw"));
  EXPECT_TRUE(scan.finds("x float  sum"));
  EXPECT_FALSE(scan.finds(""));
  EXPECT_FALSE(scan.finds("b"));
  EXPECT_FALSE(scan.finds("bus bw, BW averag, float"));
}

TEST(WordScan, FindsAWordAcrossTwoBlocks) {
  // Input hands out blocks of its own size: the word is put at every place around a power of two.
  const WordScan scan({"needle"});
  for (std::size_t at = (1 << 16) - 8; at < (1 << 16) + 8; ++at) {
    std::string text(1 << 18, '.');
    text.replace(at, 6, "needle");
    Input input = Input::from_memory("text", text);
    EXPECT_TRUE(scan.finds(input)) << at;
  }
  Input without = Input::from_memory("text", std::string(1 << 18, '.'));
  EXPECT_FALSE(scan.finds(without));
}

}  // namespace
}  // namespace comm_probe::core
