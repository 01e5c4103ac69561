// One line of a table of nccl-tests: is it a row, and what do its columns say?
//
// A row is found by its words, not by its place: size, count, type, then numbers; so any prefix
// (rank tags, time stamps, pod names) may stand before it. Which numbers are which follows from the
// column header where there is one, else from how many there are and from algbw = size / time.
//
//   "[1,0]<stdout>:  1048576  262144  float  sum  -1  119.1  8.81  16.51  0  121.5  8.63  16.18  0"
//   -> kRow, bytes 1048576, root -1, out of place 119.1 us
#pragma once

#include <optional>
#include <string_view>

#include "curve/curve.h"
#include "curve/tokens.h"

namespace comm_probe::curve {

// What the column header says about the numbers of a row.
struct Layout {
  bool has_redop = false;
  bool has_root = false;
  int width = 4;   // columns per group: time algbw busbw [#wrong | error] [per-iteration figures]
  int groups = 2;  // out of place, in place
  bool has_last = true;        // the fourth column is #wrong or error
  bool last_is_error = false;  // "error" (largest error, before 2022) instead of "#wrong"
};

// "# size count type redop root time algbw busbw #wrong ..." wherever it begins in the line.
std::optional<Layout> read_column_header(const Tokens& tokens);

enum class RowKind {
  kNotARow,
  kRow,
  kHalfRow,  // the out-of-place half is there, the in-place half is not
  kHead,     // size, count, type ... and not all of the first figures
  kRefused,  // a row with a figure that no time and no rate can have: negative, beyond 1e15
};

struct RowReading {
  RowKind kind = RowKind::kNotARow;
  bool contradicts_itself = false;  // size / time is not algbw
  const char* end = nullptr;        // behind its last word, in the text of the tokens
  // A word that is no figure: the impossible one of a refused row, or "nan" or "inf" in a row that
  // lacks this timing.
  std::string_view odd_word = {};
};

// The same for a row that looks exactly as nccl-tests prints it below this header, three times as
// fast; kNotARow for every other line, which read_row must then look at. `row` is filled only where
// the line is a row.
RowReading read_plain_row(std::string_view text, const Layout& layout, Row& row);
// Fills `row` except its line. `layout` is null where no header was seen.
RowReading read_row(const Tokens& tokens, const Layout* layout, Row& row);
// algbw is size / time within the precision of print; true where there is nothing to compare.
bool algbw_agrees(double bytes, double time_us, double algbw_GBps);
bool contradicts_itself(const Row& row);
// Figures above are not times and rates; below, sums and ratios of them stay finite.
inline constexpr double kLargestFigure = 1e15;

// Numbers only: the rest of a row whose head stood on an earlier line.
bool is_numbers_only(const Tokens& tokens);

}  // namespace comm_probe::curve
