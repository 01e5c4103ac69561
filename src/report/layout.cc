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

// No line begins with one of these: they belong to what stands before them.
static bool is_closing(char32_t code_point) {
  constexpr std::u32string_view kClosing =
      U"\u3001\u3002\uFF0C\uFF1A\uFF1B\uFF09\uFF1F\uFF01\u300D\u201D";
  return kClosing.find(code_point) != std::u32string_view::npos;
}

// Chinese has no spaces: a line may also end before or behind a wide character. How much of `word`
// fits into `room` columns and ends there, or ends first where the line is still empty; 0 where
// nothing does.
static std::size_t length_that_fits(std::string_view word, std::size_t room, bool is_line_empty) {
  std::size_t fits = 0, columns = 0, at = 0;
  bool was_wide = false;
  while (at < word.size()) {
    const CodePoint point = first_code_point(word.substr(at));
    const bool is_wide = columns_of(point.value) == 2;
    if (at > 0 && (is_wide || was_wide) && !is_closing(point.value)) {
      if (columns > room) return fits == 0 && is_line_empty ? at : fits;
      fits = at;
    }
    columns += static_cast<std::size_t>(columns_of(point.value));
    at += point.length;
    was_wide = is_wide;
  }
  return columns <= room || (fits == 0 && is_line_empty) ? word.size() : fits;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    for (;;) {
      const std::size_t used = line.empty() ? 0 : display_width(line) + 1;
      const std::size_t room = width > used ? width - used : 0;
      const std::size_t fits = length_that_fits(word, room, line.empty());
      if (fits > 0) line += (line.empty() ? "" : " ") + std::string(word.substr(0, fits));
      word.remove_prefix(fits);
      if (word.empty()) break;
      lines.push_back(std::move(line));
      line.clear();
    }
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
