#include <array>

#include "core/finding_table.h"
#include "curve/curve.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr const char* kExpected =
    "expected the columns test,nodes,gpus_per_node,node_a,node_b,min_bytes,max_bytes,"
    "avg_busbw_GBs,peak_busbw_GBs";
enum PairColumn {
  kTest,
  kNodes,
  kPerNode,
  kNodeA,
  kNodeB,
  kMinBytes,
  kMaxBytes,
  kAvg,
  kPeak,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames = {
    "test",      "nodes",     "gpus_per_node", "node_a",        "node_b",
    "min_bytes", "max_bytes", "avg_busbw_GBs", "peak_busbw_GBs"};

using Cells = std::array<std::string_view, kColumns>;

// Nothing where the line has another number of cells.
std::optional<Cells> cells_of(std::string_view line) {
  Cells cells;
  std::size_t count = 0;
  while (true) {
    const std::size_t comma = line.find(',');
    if (count == kColumns) return std::nullopt;
    cells[count++] = trim(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return count == kColumns ? std::optional(cells) : std::nullopt;
}

// False where the cell is neither empty nor a bandwidth.
bool read_cell(std::string_view cell, std::optional<core::Bandwidth>& value) {
  if (cell.empty() || cell == "nan" || cell == "N/A") return true;
  const auto number = parse_decimal(cell);
  if (!number || *number < 0 || *number > 1e9) return false;
  value = core::Bandwidth::from_GBps(*number);
  return true;
}

std::optional<Pair> read_pair(std::string_view line) {
  const auto cells = cells_of(line);
  if (!cells) return std::nullopt;
  const auto per_node = parse_small((*cells)[kPerNode]);
  const auto min_bytes = parse_whole((*cells)[kMinBytes]);
  const auto max_bytes = parse_whole((*cells)[kMaxBytes]);
  Pair pair;
  if (!per_node || *per_node < 1 || !min_bytes || !max_bytes) return std::nullopt;
  if ((*cells)[kNodeA].empty() || (*cells)[kNodeB].empty()) return std::nullopt;  // of whom?
  if (!read_cell((*cells)[kAvg], pair.avg_busbw) || !read_cell((*cells)[kPeak], pair.peak_busbw))
    return std::nullopt;
  pair.test = (*cells)[kTest];
  pair.node_a = (*cells)[kNodeA];
  pair.node_b = (*cells)[kNodeB];
  pair.gpus_per_node = *per_node;
  pair.min_bytes = core::Bytes::of(*min_bytes);
  pair.max_bytes = core::Bytes::of(*max_bytes);
  return pair;
}

core::Error refusal(const core::Input& input, std::string message, std::uint64_t line) {
  core::Error error = core::input_error(std::move(message), kExpected);
  error.where.file = input.name();
  if (line > 0) error.where.line = line;
  return error;
}

}  // namespace

core::Result<Reading> read_pairwise_csv(core::Input& input) {
  Reading reading = {.file = input.name(), .kind = "pairwise-csv"};
  core::LineReader lines(input);
  core::Line line;
  if (!lines.next(line)) return refusal(input, "is an empty table of pairs", 0);
  if (cells_of(line.text) != std::optional(Cells(kNames)))
    return refusal(input, "the first line does not name the columns of a table of pairs", 1);
  std::uint64_t carriage_returns = line.carriage_return ? 1 : 0, first_bad = 0;
  for (reading.lines = 1; lines.next(line); ++reading.lines) {
    if (line.carriage_return) ++carriage_returns;
    if (trim(line.text).empty()) continue;
    if (auto pair = read_pair(line.text)) {
      pair->line = line.number;
      reading.pairs.push_back(std::move(*pair));
    } else if (reading.skipped_lines++ == 0) {
      first_bad = line.number;
    }
  }
  if (reading.pairs.empty()) return refusal(input, "holds no row of a table of pairs", 0);
  if (carriage_returns > 0)
    reading.caveats.push_back(core::make_caveat(
        "input.line-endings", reading.file + ": lines end with a carriage return (CRLF)",
        "the rows were read, but lines may have been lost or changed on the way"));
  if (first_bad > 0)
    reading.caveats.push_back(core::make_caveat(
        "input.truncated",
        reading.file + ":" + std::to_string(first_bad) + ": not a row of the table of pairs",
        "the other pairs were read"));
  if (lines.error())
    reading.caveats.push_back(core::make_caveat("input.truncated", lines.error()->one_line(),
                                                "what stands before the damage was read"));
  return reading;
}

}  // namespace comm_probe::curve
