#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "report/layout.h"

namespace comm_probe::report {
namespace {

using core::Column;
using core::Table;

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestText = 12;  // a shortened text keeps a beginning and an end

struct Layout {
  std::vector<std::size_t> widths;
  std::vector<bool> shown;
  std::size_t total() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (shown[i]) sum += widths[i] + kGap;
    return sum == 0 ? 0 : sum - kGap;
  }
};

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(display_width(column.title));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(printable(row[i])));
  return widths;
}

// The lightest are left out first, the rightmost of equal weight before the others.
void leave_out_columns(const Table& table, std::size_t width, Layout& layout) {
  while (layout.total() > width) {
    std::size_t lightest = layout.widths.size();
    for (std::size_t i = 0; i < layout.widths.size(); ++i) {
      if (!layout.shown[i] || table.columns[i].weight >= 10) continue;
      if (lightest == layout.widths.size() ||
          table.columns[i].weight <= table.columns[lightest].weight)
        lightest = i;
    }
    if (lightest == layout.widths.size()) return;
    layout.shown[lightest] = false;
  }
}

void narrow_texts(const Table& table, std::size_t width, Layout& layout) {
  while (layout.total() > width) {
    std::size_t widest = layout.widths.size();
    for (std::size_t i = 0; i < layout.widths.size(); ++i) {
      if (!layout.shown[i] || table.columns[i].align == Column::Align::kRight) continue;
      const std::size_t narrowest = std::max(kNarrowestText, display_width(table.columns[i].title));
      if (layout.widths[i] <= narrowest) continue;
      if (widest == layout.widths.size() || layout.widths[i] > layout.widths[widest]) widest = i;
    }
    if (widest == layout.widths.size()) return;
    --layout.widths[widest];
  }
}

std::string render_row(const Table& table, const Layout& layout,
                       const std::vector<std::string>& cells) {
  std::string line;
  bool first = true;
  for (std::size_t i = 0; i < layout.widths.size(); ++i) {
    if (!layout.shown[i]) continue;
    if (!first) line += std::string(kGap, ' ');
    first = false;
    std::string cell = i < cells.size() ? printable(cells[i]) : "";
    if (table.columns[i].align == Column::Align::kLeft) cell = shorten(cell, layout.widths[i]);
    line += pad(cell, layout.widths[i], table.columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string render_table(const Table& table, std::size_t width) {
  Layout layout = {column_widths(table), std::vector<bool>(table.columns.size(), true)};
  leave_out_columns(table, width, layout);
  narrow_texts(table, width, layout);
  std::vector<std::string> titles, hidden;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    titles.push_back(table.columns[i].title);
    if (!layout.shown[i]) hidden.push_back(table.columns[i].title);
  }
  std::string text = render_row(table, layout, titles);
  for (const auto& row : table.rows) text += render_row(table, layout, row);
  if (hidden.empty()) return text;
  const std::string note =
      fmt::format("(left out to fit {} columns: {})", width, fmt::join(hidden, ", "));
  return text + indented(wrap(note, width - 1), 1) + "\n";
}

}  // namespace comm_probe::report
