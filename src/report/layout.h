// Width and wrapping of text on a terminal. A width counts UTF-8 code points; control characters of
// inputs are shown as
// '?' so that a hostile log cannot move the cursor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/document.h"

namespace comm_probe::report {

std::size_t display_width(std::string_view text);
std::string printable(std::string_view text);
// Breaks at spaces; a word longer than the width stands alone on its line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);
std::string pad(std::string_view text, std::size_t width, core::Column::Align align);
// First line as it is, the following ones indented.
std::string indented(const std::vector<std::string>& lines, std::size_t indent);
std::string render_table(const core::Table& table, std::size_t width);

}  // namespace comm_probe::report
