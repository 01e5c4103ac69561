// Does a text in another language say the same as the English one, as far as a test can tell: is it
// there, with the same figures, names and commands?
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace comm_probe::test {

inline bool has_chinese(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0xE4) return true;  // first byte of U+4000 and above
  return false;
}

// Figures, and words that are names wherever they stand: NCCL_ALGO, ib_write_bw, LL128, 2(n-1)/n.
inline std::multiset<std::string> figures_of(const std::string& text) {
  static const std::regex kFigure("[0-9]+(\\.[0-9]+)*");
  std::multiset<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), kFigure), end; at != end; ++at)
    all.insert(at->str());
  return all;
}
inline std::set<std::string> names_of(const std::string& text) {
  static const std::regex kName("[A-Za-z]+_[A-Za-z_0-9]+|`[^`]+`");
  std::set<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at)
    all.insert(at->str());
  return all;
}

inline void expect_same(const std::string& where, std::string_view english,
                        const std::string& text) {
  ASSERT_FALSE(text.empty()) << where << " has no Chinese text";
  EXPECT_TRUE(has_chinese(text)) << where << ": " << text;
  const auto given = figures_of(text);
  for (const std::string& figure : figures_of(std::string(english)))
    EXPECT_GT(given.count(figure), 0U) << where << ": " << figure << " is missing in " << text;
  for (const std::string& figure : given)
    EXPECT_GT(figures_of(std::string(english)).count(figure), 0U)
        << where << ": " << figure << " is not in " << english;
  for (const std::string& name : names_of(std::string(english)))
    EXPECT_THAT(text, testing::HasSubstr(name)) << where;
}

}  // namespace comm_probe::test
