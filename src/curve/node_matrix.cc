#include "curve/node_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/finding_table.h"
#include "curve/identity.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLeastNodes = 3;
constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kMostPairs = 1'000'000;
constexpr std::size_t kHeadLines = 40;  // before the names
constexpr const char* kExpected =
    "expected a line of node names, then one line per node: its name and a figure per column";

using Cells = std::vector<std::string_view>;

// Empty cells count where a character separates; blanks do not.
Cells cells_of(std::string_view line) {
  Cells cells;
  // "node1;;391,2": a comma beside semicolons or tabs is a decimal one.
  std::size_t mark = line.find_first_of(";\t");
  if (mark == std::string_view::npos) mark = line.find(',');
  if (mark == std::string_view::npos) {
    line = trim(line);
    while (!line.empty() && cells.size() <= kMostNodes + 1) {
      const std::size_t end = line.find_first_of(" ");
      cells.push_back(line.substr(0, end));
      line = end == std::string_view::npos ? std::string_view{} : trim(line.substr(end));
    }
    return cells;
  }
  const char separator = line[mark];
  while (cells.size() <= kMostNodes + 1) {
    const std::size_t end = line.find(separator);
    cells.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return cells;
}

// "10.0.0.7", as hostfiles give them.
bool is_address(std::string_view word) {
  std::size_t parts = 0;
  while (true) {
    const std::size_t end = std::min(word.find('.'), word.size());
    const auto number = parse_decimal(word.substr(0, end));
    if (end == 0 || end > 3 || !number || *number < 0 || *number > 255) return false;
    ++parts;
    if (end == word.size()) return parts == 4;
    word.remove_prefix(end + 1);
  }
}

bool is_name(std::string_view word) {
  if (is_address(word)) return true;
  const bool has_letter = std::any_of(word.begin(), word.end(), is_letter);
  return has_letter && word.size() <= 64 && word.find_first_of("()[]/=:") == std::string_view::npos;
}

bool is_no_result(std::string_view cell) {
  return cell.empty() || cell == "-" || cell == "x" || cell == "X" || cell == "N/A" ||
         cell == "nan" || cell == "NaN";
}

// "GPU3", "mlx5_2": a device of one machine.
bool names_a_device(std::string_view word) {
  std::string stem(word.substr(0, word.find_first_of("0123456789")));
  std::transform(stem.begin(), stem.end(), stem.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  static constexpr std::array<std::string_view, 8> kDevices = {"gpu", "mlx",  "nic", "dev",
                                                               "cpu", "numa", "eth", "device"};
  return std::find(kDevices.begin(), kDevices.end(), stem) != kDevices.end();
}

// The names of a header: all cells, or all but the corner.
std::vector<std::string> names_of(const Cells& cells) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (is_name(cells[i]))
      names.emplace_back(cells[i]);
    else if (i > 0)
      return {};
  }
  // A table of GPUs or devices of one machine (rocm-smi prints weights of links) is none of nodes.
  const bool is_of_hardware = std::all_of(names.begin(), names.end(), names_a_device);
  if (is_of_hardware || names.size() < kLeastNodes || names.size() > kMostNodes) return {};
  return names;
}

// The columns a row belongs to: the header's names, without its corner where the corner is a word.
struct Header {
  std::vector<std::string> names = {};
  bool fits(const Cells& row) const {
    return row.size() >= 2 && row.size() <= names.size() + 1 && is_name(row[0]) &&
           std::find(names.begin(), names.end(), row[0]) != names.end();
  }
};

// "391.2", and "391,2" where no comma separates the cells.
std::optional<double> figure_of(std::string_view cell) {
  if (const auto figure = parse_decimal(cell)) return figure;
  const std::size_t comma = cell.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  std::string text(cell);
  text[comma] = '.';
  return parse_decimal(text);
}

bool is_row(const Header& header, const Cells& row) {
  if (!header.fits(row)) return false;
  std::size_t figures = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const auto figure = figure_of(row[i]);
    if (!figure && !is_no_result(row[i])) return false;
    if (figure) ++figures;
  }
  return figures > 0;
}

// A corner that is a word ("node", "src\dst") looks like one more name.
bool drop_corner(Header& header, const Cells& row) {
  if (row.size() == header.names.size() && header.names.size() > kLeastNodes &&
      std::find(header.names.begin() + 1, header.names.end(), row[0]) != header.names.end() &&
      row[0] != header.names.front()) {
    header.names.erase(header.names.begin());
    return true;
  }
  return false;
}

std::optional<double> unit_of(std::string_view text) {
  for (const std::string_view word : {"Gb/s", "Gbps", "Gbit/s", "Gb/sec"})
    if (text.find(word) != std::string_view::npos) return 1e9 / 8;
  for (const std::string_view word : {"GB/s", "GBps", "GB/sec"})
    if (text.find(word) != std::string_view::npos) return 1e9;
  if (text.find("MB/s") != std::string_view::npos) return 1e6;
  return std::nullopt;
}

// A word that says that the figures are no bandwidths: of a small figure such a table says that the
// pair is near or good. Empty where there is none.
std::string_view other_quantity_of(std::string_view text) {
  std::string lower(text.substr(0, 200));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  Tokens tokens;
  std::replace_if(
      lower.begin(), lower.end(),
      [](char c) { return std::string_view(",;()[]:").find(c) != std::string_view::npos; }, ' ');
  split(lower, tokens);
  static constexpr std::array<std::string_view, 19> kOthers = {
      "latency",  "latencies",    "rtt",    "ping",   "us",     "usec", "ms",
      "ns",       "microseconds", "hops",   "hop",    "loss",   "lost", "weight",
      "distance", "distances",    "jitter", "errors", "retries"};
  for (std::size_t i = 0; i < tokens.size; ++i)
    for (const std::string_view word : kOthers)
      if (tokens.at[i] == word) return word;
  return {};
}

class MatrixOfNodes {
 public:
  explicit MatrixOfNodes(Reading& reading) : reading_(reading) {}
  void feed(const core::Line& line);
  bool has_unit() const { return unit_.has_value(); }
  // "latency": a line above the figures says that they are this and no bandwidths.
  std::string_view other_quantity() const { return unit_ ? std::string_view{} : other_; }
  std::size_t left_out() const { return left_out_; }
  // Which rows the table lacks. Empty where it is whole; one row of a triangle is empty by design.
  std::string cut() const;

 private:
  void add(const Cells& row, std::uint64_t line);

  Reading& reading_;
  Header header_ = {};
  std::uint64_t header_line_ = 0;
  std::optional<double> unit_ = {};
  std::string_view other_ = {};
  std::size_t left_out_ = 0;
  std::set<std::string, std::less<>> rows_ = {};
  bool is_above_ = false;  // the diagonal, a figure stands
  bool is_below_ = false;
  std::uint64_t short_row_ = 0;  // line of the first row with fewer cells than there are names
};

std::string MatrixOfNodes::cut() const {
  std::string without;
  for (std::size_t i = 0; i < header_.names.size(); ++i) {
    const bool is_end_of_triangle =
        (i == 0 && !is_above_) || (i + 1 == header_.names.size() && !is_below_);
    if (is_end_of_triangle || rows_.contains(header_.names[i])) continue;
    without += (without.empty() ? "" : " ") + header_.names[i];
  }
  if (!without.empty())
    return fmt::format("it names {} nodes and has the rows of {} (none of {})",
                       header_.names.size(), rows_.size(), without.substr(0, 200));
  if (short_row_ == 0 || !is_above_ || !is_below_) return {};
  return fmt::format("line {} has fewer figures than there are names", short_row_);
}

void MatrixOfNodes::feed(const core::Line& line) {
  if (const auto unit = unit_of(line.text); unit && !unit_) unit_ = unit;
  if (other_.empty() && reading_.pairs.empty()) other_ = other_quantity_of(line.text);
  const Cells cells = cells_of(line.text);
  if (line.number == header_line_ + 1 && !header_.names.empty()) drop_corner(header_, cells);
  if (!header_.names.empty() && is_row(header_, cells)) return add(cells, line.number);
  auto names = names_of(cells);
  if (names.empty()) {
    if (!trim(line.text).empty()) ++reading_.skipped_lines;
    return;
  }
  header_.names = std::move(names);
  header_line_ = line.number;
}

void MatrixOfNodes::add(const Cells& row, std::uint64_t line) {
  rows_.emplace(row[0]);
  const auto own = static_cast<std::size_t>(
      std::find(header_.names.begin(), header_.names.end(), row[0]) - header_.names.begin());
  if (row.size() <= header_.names.size() && short_row_ == 0) short_row_ = line;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const std::string& to = header_.names[i - 1];
    if (to == row[0]) continue;
    const auto figure = figure_of(row[i]);
    // An empty half of a triangle is not a failed run.
    if (!figure && (row[i].empty() || row[i] == "-")) continue;
    if (reading_.pairs.size() >= kMostPairs) {
      ++left_out_;
      continue;
    }
    Pair pair;
    pair.node_a = row[0];
    pair.node_b = to;
    pair.is_directed = true;
    pair.line = line;
    if (figure && *figure > 0 && *figure <= 1e9)  // no run ends with nothing moved
      pair.avg_busbw = core::Bandwidth::from_bytes_per_second(*figure * unit_.value_or(1e9));
    (i - 1 > own ? is_above_ : is_below_) = true;
    reading_.pairs.push_back(std::move(pair));
  }
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

bool is_node_matrix(std::string_view head) {
  Header header;
  for (std::size_t lines = 0; lines < kHeadLines && !head.empty(); ++lines) {
    const Cells cells = cells_of(next_line(head));
    if (!header.names.empty()) {
      drop_corner(header, cells);
      if (is_row(header, cells)) return true;
    }
    header.names = names_of(cells);
  }
  return false;
}

core::Result<Reading> read_node_matrix(core::Input& input) {
  Reading reading = {.file = input.name(), .kind = "node-matrix"};
  MatrixOfNodes matrix(reading);
  core::LineReader lines(input);
  core::Line line;
  for (; lines.next(line); ++reading.lines) matrix.feed(line);
  std::string test = op_of_file_name(input.name()).program;
  if (test.empty()) test = input.name().substr(input.name().find_last_of('/') + 1);
  for (Pair& pair : reading.pairs) pair.test = test;
  if (reading.pairs.empty()) {
    core::Error error = core::input_error("holds no figure of a table of nodes", kExpected);
    error.where.file = input.name();
    return error;
  }
  if (!matrix.other_quantity().empty()) {
    core::Error error = core::input_error(
        fmt::format("is a table of nodes, but of '{}' and not of bandwidths",
                    matrix.other_quantity()),
        "expected bandwidths; put GB/s or Gb/s into a line above the names if they are");
    error.where.file = input.name();
    return error;
  }
  if (!matrix.has_unit())
    reading.caveats.push_back(core::make_caveat(
        "input.unit-unknown", reading.file + ": the unit of the table of nodes is not stated",
        "its figures are taken for bandwidths in GB/s; if they are times, the low ones are the "
        "good ones, and nothing here holds: put the unit into a line above the names",
        false));
  if (const std::string cut = matrix.cut(); !cut.empty())
    reading.caveats.push_back(core::make_caveat(
        "input.truncated", fmt::format("{}: the table of nodes is cut: {}", reading.file, cut),
        "the pairs that it shows were read; nothing is known of the others"));
  if (matrix.left_out() > 0)
    reading.caveats.push_back(
        core::make_caveat("input.truncated",
                          fmt::format("{}: {} pairs beyond the first {} were left out",
                                      reading.file, matrix.left_out(), kMostPairs),
                          "the first ones were read"));
  if (lines.error())
    reading.caveats.push_back(core::make_caveat("input.truncated", lines.error()->one_line(),
                                                "what stands before the damage was read"));
  return reading;
}

}  // namespace comm_probe::curve
