#include "report/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace comm_probe::report {
namespace {

using core::Column;
using core::Table;

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(display_width(column.title));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  return widths;
}

// Which columns fit: the lightest are dropped first, the rightmost of equal weight before the
// others.
std::vector<bool> fitting_columns(const Table& table, const std::vector<std::size_t>& widths,
                                  std::size_t width) {
  std::vector<bool> shown(widths.size(), true);
  std::size_t total = 0;
  for (const std::size_t column_width : widths) total += column_width + 2;
  while (total > width + 2) {
    std::size_t lightest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!shown[i] || table.columns[i].weight >= 10) continue;
      if (lightest == widths.size() || table.columns[i].weight <= table.columns[lightest].weight)
        lightest = i;
    }
    if (lightest == widths.size()) break;
    shown[lightest] = false;
    total -= widths[lightest] + 2;
  }
  return shown;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = c == '\t' ? ' ' : '?';
  return shown;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
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

std::string indented(const std::vector<std::string>& lines, std::size_t indent) {
  return fmt::format("{}", fmt::join(lines, "\n" + std::string(indent, ' ')));
}

std::string render_table(const Table& table, std::size_t width) {
  const std::vector<std::size_t> widths = column_widths(table);
  const std::vector<bool> shown = fitting_columns(table, widths, width);
  const auto render_row = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!shown[i]) continue;
      if (!line.empty()) line += "  ";
      line += pad(cell_of(i), widths[i], table.columns[i].align);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line + "\n";
  };
  std::string text =
      render_row([&](std::size_t i) -> std::string { return table.columns[i].title; });
  for (const auto& row : table.rows)
    text += render_row([&](std::size_t i) -> std::string { return i < row.size() ? row[i] : ""; });
  std::vector<std::string> hidden;
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (!shown[i]) hidden.push_back(table.columns[i].title);
  if (!hidden.empty())
    text += fmt::format("(left out to fit {} columns: {})\n", width, fmt::join(hidden, ", "));
  return text;
}

}  // namespace comm_probe::report
