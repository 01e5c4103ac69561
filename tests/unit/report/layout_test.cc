#include "report/layout.h"

#include <gtest/gtest.h>

#include "report/utf8.h"

namespace comm_probe::report {
namespace {

using core::Column;
using core::Table;
using Lines = std::vector<std::string>;

TEST(Layout, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("\u00b5s"), 2U);
  EXPECT_EQ(display_width("e\u0301"), 1U);       // a combining accent
  EXPECT_EQ(display_width("\u901a\u4fe1"), 4U);  // two wide characters
  EXPECT_EQ(display_width("\xff\xfe"), 2U);      // two bytes that are no UTF-8
  EXPECT_EQ(display_width(""), 0U);
}

// Sequences from RFC 3629 section 3 and its table of what is not UTF-8.
TEST(Utf8, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82",
                           "\xf8\x88\x80\x80\x80", "\xe0\x80\xaf"}) {
    EXPECT_FALSE(first_code_point(text).valid) << text;
    EXPECT_EQ(first_code_point(text).length, 1U) << text;
  }
  EXPECT_EQ(first_code_point("\xe2\x82\xac").value, U'\u20ac');
  EXPECT_EQ(first_code_point("\xf0\x9f\x98\x80").value, U'\U0001F600');
}

TEST(Layout, PrintsNothingThatMovesTheCursor) {
  EXPECT_EQ(printable("a\x1b[31;1mb\rc\td\ne\x1b]0;\a"), "ab c d e?]0;?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "?2J");  // CSI as one C1 character
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "?2J");  // the same as a bare byte
  EXPECT_EQ(printable("\u202e"
                      "gpj"),
            "?gpj");  // right-to-left override
  EXPECT_EQ(printable("\u00b5s \u901a"), "\u00b5s \u901a");
}

TEST(Layout, Wraps) {
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("a /very/long/path b", 5), (Lines{"a", "/very/long/path", "b"}));
  EXPECT_EQ(wrap("  two   spaces ", 20), (Lines{"two spaces"}));
  EXPECT_EQ(wrap("", 5), (Lines{""}));
}

// Chinese has no spaces; a line does not begin with its comma.
TEST(Layout, WrapsBesideWideCharacters) {
  EXPECT_EQ(wrap("\u901a\u4fe1\u5f88\u6162", 5), (Lines{"\u901a\u4fe1", "\u5f88\u6162"}));
  EXPECT_EQ(wrap("\u901a\u4fe1\uff0c\u6162", 5), (Lines{"\u901a", "\u4fe1\uff0c", "\u6162"}));
  EXPECT_EQ(wrap("a \u7528NCCL_ALGO\u8bbe", 8), (Lines{"a \u7528", "NCCL_ALGO", "\u8bbe"}));
  EXPECT_EQ(wrap("\u901a\u4fe1", 1), (Lines{"\u901a", "\u4fe1"}));
}

TEST(Layout, ShortensTheMiddle) {
  EXPECT_EQ(shorten("a-very-long-file-name.txt", 14), "a-ver...me.txt");
  EXPECT_EQ(shorten("short", 5), "short");
  EXPECT_EQ(shorten("longer", 1), "l...r");
  for (std::size_t width = 5; width < 20; ++width)
    EXPECT_LE(display_width(shorten("\u901a\u4fe1\u901a\u4fe1\u901a\u4fe1\u901a\u4fe1", width)),
              width);
  EXPECT_EQ(shorten(std::string(1 << 20, 'x'), 300).size(), 300U);
}

TEST(Layout, WritesRanges) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({3}), "3");
  EXPECT_EQ(ranges({11, 0, 1, 2, 3, 8, 10, 2}), "0-3, 8, 10, 11");
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0, start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    widest = std::max(widest, display_width(std::string_view(text).substr(start, end - start)));
    start = end + 1;
  }
  return widest;
}

Table wide_table() {
  Table table;
  table.columns = {{"file", Column::Align::kLeft},
                   {"size"},
                   {"busbw", Column::Align::kRight, 5},
                   {"remark", Column::Align::kLeft, 1}};
  table.rows = {{"/a/long/path/to/a/recording/of/a/run.txt", "1 GB", "24.95", "some remark"},
                {"b", "64 KiB"}};
  return table;
}

TEST(Table, LeavesOutTheLightestColumnFirst) {
  EXPECT_EQ(render_table(wide_table(), 60),
            "file                                        size  busbw\n"
            "/a/long/path/to/a/recording/of/a/run.txt    1 GB  24.95\n"
            "b                                         64 KiB\n"
            "(left out to fit 60 columns: remark)\n");
}

TEST(Table, ShortensTextsButNoNumbers) {
  EXPECT_EQ(render_table(wide_table(), 40),
            "file                                size\n"
            "/a/long/path/t...ng/of/a/run.txt    1 GB\n"
            "b                                 64 KiB\n"
            "(left out to fit 40 columns: busbw,\n"
            " remark)\n");
}

TEST(Table, FitsEveryWidthThatItCan) {
  for (std::size_t width = 22; width < 90; ++width)
    EXPECT_LE(widest_line(render_table(wide_table(), width)), width);
}

TEST(Table, NothingInACellMovesTheCursor) {
  Table table;
  table.columns = {{"host", Column::Align::kLeft}, {"n"}};
  table.rows = {{"node\x1b[31m", "1\r2"}};
  EXPECT_EQ(render_table(table, 80).find_first_of("\x1b\r"), std::string::npos);
}

}  // namespace
}  // namespace comm_probe::report
