#include "report/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/number_ranges.h"
#include "report/utf8.h"

namespace comm_probe::report {

using core::Column;

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += static_cast<std::size_t>(columns_of(point.value));
    text.remove_prefix(point.length);
  }
  return width;
}

// Length of the colour or cursor sequence that the text begins with (ECMA-48: ESC [ parameters, one
// final byte from @ to ~); 0 where there is none.
static std::size_t escape_sequence(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] >= '@' && text[i] <= '~') return i + 1;
    if (text[i] < ' ' || text[i] > '?') break;
  }
  return 0;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    if (const std::size_t length = escape_sequence(text); length > 0) {
      text.remove_prefix(length);
      continue;
    }
    const CodePoint point = first_code_point(text);
    if (point.valid && (point.value == '\t' || point.value == '\n' || point.value == '\r'))
      shown += ' ';
    else if (!point.valid || is_control(point.value))
      shown += '?';
    else
      shown += text.substr(0, point.length);
    text.remove_prefix(point.length);
  }
  return shown;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string pad(std::string_view text, std::size_t width, Column::Align align) {
  const std::size_t used = display_width(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return align == Column::Align::kRight ? fill + std::string(text) : std::string(text) + fill;
}

std::string shorten(std::string_view text, std::size_t width) {
  std::size_t all = display_width(text);
  if (all <= width) return std::string(text);
  const std::size_t kept = std::max<std::size_t>(width, 5) - 3;
  std::string beginning;
  std::size_t used = 0;
  const auto next = [&text] { return text.substr(0, first_code_point(text).length); };
  for (; used + display_width(next()) <= kept / 2; text.remove_prefix(next().size())) {
    used += display_width(next());
    beginning += next();
  }
  for (all -= used; all > kept - kept / 2; text.remove_prefix(next().size()))
    all -= display_width(next());
  return beginning + "..." + std::string(text);
}

std::string indented(const std::vector<std::string>& lines, std::size_t indent) {
  return fmt::format("{}", fmt::join(lines, "\n" + std::string(indent, ' ')));
}

std::string ranges(std::vector<int> numbers) {
  return core::short_number_ranges(std::move(numbers));
}

}  // namespace comm_probe::report
