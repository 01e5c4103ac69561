// Width and wrapping of text on a terminal. A width counts columns (utf8.h). What inputs may have
// written goes through printable(), so that a hostile log can neither move the cursor nor turn the
// direction of a line.
//
//   display_width("\u00b5s") == 2
//   wrap("one two three", 7) == {"one two", "three"}
//   shorten("a-very-long-file-name.txt", 14) == "a-ver...me.txt"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/document.h"

namespace comm_probe::report {

std::size_t display_width(std::string_view text);
// Colour sequences are dropped; line ends and tabs become spaces; other control characters and
// bytes that are no UTF-8 become '?'.
std::string printable(std::string_view text);
// Breaks at spaces; a word longer than the width stands alone on its line, so that a path or a
// command can be copied.
std::vector<std::string> wrap(std::string_view text, std::size_t width);
std::string pad(std::string_view text, std::size_t width, core::Column::Align align);
// At most `width` columns (at least 5): the middle is left out, the beginning and the end stay.
std::string shorten(std::string_view text, std::size_t width);
// First line as it is, the following ones indented.
std::string indented(const std::vector<std::string>& lines, std::size_t indent);
// "0-3, 8, 10-11"; order and repetitions do not matter.
std::string ranges(std::vector<int> numbers);
// Where it is wider than `width`: first the columns of low weight are left out (and named below the
// table), then the widest texts are shortened; numbers never are.
std::string render_table(const core::Table& table, std::size_t width);

}  // namespace comm_probe::report
