#include "curve/readers/matrix_rows.h"

#include <algorithm>

#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr int kHighestDevice = 4096;
constexpr std::size_t kDecimals = 2;  // of both tools' bandwidths and latencies

bool is_corner(std::string_view word) { return word == "D\\D" || word == "GPU" || word == "CPU"; }

std::optional<int> device_number(std::string_view word) {
  const auto number = parse_small(word);
  return number && *number >= 0 && *number <= kHighestDevice ? number : std::nullopt;
}

}  // namespace

void MatrixRows::begin(LinkMatrix matrix) {
  matrix_ = std::move(matrix);
  corner_.clear();
  is_open_ = true;
}

bool MatrixRows::take(const LinkLine& line) {
  if (!is_open_) return false;
  return matrix_.columns.empty() ? take_columns(line) : take_row(line);
}

bool MatrixRows::take_columns(const LinkLine& line) {
  Tokens tokens;
  split(line.text, tokens);
  std::size_t first = 0;
  if (tokens.size > 0 && is_corner(tokens.at[0])) corner_ = tokens.at[first++];
  std::vector<int> columns;
  for (std::size_t i = first; i < tokens.size; ++i) {
    const auto number = device_number(tokens.at[i]);
    if (!number || (!columns.empty() && *number <= columns.back())) return false;
    columns.push_back(*number);
  }
  if (columns.empty()) return false;
  matrix_.columns = std::move(columns);
  if (matrix_.line == 0) matrix_.line = line.number;
  return true;
}

bool MatrixRows::take_row(const LinkLine& line) {
  Tokens tokens;
  split(line.text, tokens);
  if (tokens.size < 2 || tokens.size > matrix_.columns.size() + 1) return false;
  const auto number = device_number(tokens.at[0]);
  if (!number || (!matrix_.rows.empty() && *number <= matrix_.rows.back())) return false;
  std::vector<OptionalFigure> cells;
  std::size_t failed = 0;
  for (std::size_t i = 1; i < tokens.size; ++i) {
    const auto figure = parse_decimal(tokens.at[i]);
    const bool is_nan = tokens.at[i] == "nan" || tokens.at[i] == "-nan";
    if (!figure && !is_nan && tokens.at[i] != "N/A") return false;
    if (is_nan) ++failed;
    const bool is_cut = figure && i + 1 == tokens.size && matrix_.unit != CellUnit::kNone &&
                        is_cut_figure(line, tokens.at[i], kDecimals);
    matrix_.is_cut = matrix_.is_cut || is_cut;
    const bool usable = figure && !is_cut && *figure >= 0 && *figure <= kLargestFigure;
    cells.push_back(usable ? OptionalFigure(*figure) : OptionalFigure());
  }
  if (cells.size() < matrix_.columns.size()) matrix_.is_cut = true;
  cells.resize(matrix_.columns.size());
  matrix_.failed += failed;
  matrix_.rows.push_back(*number);
  matrix_.row_lines.push_back(line.number);
  matrix_.cells.insert(matrix_.cells.end(), cells.begin(), cells.end());
  return true;
}

LinkMatrix MatrixRows::finish(bool square) {
  is_open_ = false;
  if (matrix_.rows.empty() || (square && matrix_.rows.size() < matrix_.columns.size()))
    matrix_.is_cut = true;
  return std::move(matrix_);
}

std::string host_of_prompt(std::string_view line) {
  const std::size_t at = line.find('@');
  if (at == std::string_view::npos || at == 0 || at > 64) return {};
  const auto is_word = [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
  };
  std::size_t end = at + 1;
  while (end < line.size() && is_word(line[end])) ++end;
  const bool is_prompt = end > at + 1 && end < line.size() &&
                         (line[end] == ':' || line[end] == ' ') &&
                         line.find_first_of("$#>", end) != std::string_view::npos;
  return is_prompt ? std::string(line.substr(at + 1, std::min<std::size_t>(end - at - 1, 64)))
                   : std::string();
}

}  // namespace comm_probe::curve
