#include "cli/link_tests_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/fit_view.h"
#include "core/units.h"
#include "diagnose/outliers.h"

namespace comm_probe::cli {
namespace {

using core::Block;
using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_number;
using curve::LinkMatrix;
using curve::LinkRow;
using curve::LinkTest;
using Tests = std::vector<const LinkTest*>;

constexpr std::size_t kMostInFull = 4;
constexpr std::size_t kMostListed = 200;
constexpr std::size_t kMostRowsShown = 40;
constexpr std::size_t kWidestMatrix = 16;  // columns that fit 100 characters

core::Column left(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kLeft, weight};
}
core::Column right(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kRight, weight};
}

std::string name_of(const LinkTest& test) {
  const std::string name = test.program.empty() ? link_tool_name(test.tool) : test.program;
  return test.device.empty() ? name : name + " on " + test.device;
}

std::string place_of(const LinkTest& test) {
  return fmt::format("{}:{}", test.file, std::max<std::uint64_t>(1, test.first_line));
}

// "Ethernet, GID index 3, MTU 4096, 4 QPs, RC"
std::string link_text(const LinkTest& test) {
  std::vector<std::string> parts;
  if (test.link_type == "IB") parts.emplace_back("InfiniBand");
  if (!test.link_type.empty() && test.link_type != "IB") parts.push_back(test.link_type);
  if (test.gid_index) parts.push_back(fmt::format("GID index {}", *test.gid_index));
  if (test.mtu) parts.push_back(fmt::format("MTU {}", test.mtu->whole()));
  if (test.qps) parts.push_back(fmt::format("{} QP{}", *test.qps, *test.qps == 1 ? "" : "s"));
  if (!test.connection.empty()) parts.push_back(test.connection);
  if (test.bidirectional) parts.emplace_back("both directions at once");
  if (test.is_loopback()) parts.emplace_back("both ends are one port");
  if (test.rdma_cm.value_or(false)) parts.emplace_back("rdma_cm");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string buffer_text(const LinkTest& test) {
  if (!test.gpu.is_used) return "";
  std::string text = "GPU memory";
  if (test.gpu.device) text += fmt::format(", device {}", *test.gpu.device);
  if (!test.gpu.name.empty()) text += ", " + test.gpu.name;
  if (test.gpu.dmabuf) text += ", DMA-BUF";
  return text;
}

// The row that says most about the link: the fastest.
const LinkRow* fastest(const LinkTest& test) {
  const LinkRow* best = nullptr;
  for (const LinkRow& row : test.rows)
    if (row.average && (best == nullptr || *row.average > *best->average)) best = &row;
  return best;
}

std::string rate_text(const std::optional<core::Bandwidth>& rate) {
  return rate && *rate > core::Bandwidth() ? format_bandwidth(*rate) : "";
}
std::string bits_text(const std::optional<core::Bandwidth>& rate) {
  return rate ? format_number(rate->in_Gbps()) : "";
}
std::string time_text(const std::optional<core::Duration>& time) {
  return time ? format_duration(*time) : "";
}

// One line per size; a column that no row fills is left out.
core::Table rows_table(const LinkTest& test) {
  core::Table all;
  all.columns = {right("size"),    right("iterations", 5), right("average"), right("in Gb/s"),
                 right("peak", 6), right("messages/s", 5), right("min", 7),  right("typical"),
                 right("time"),    right("posting", 6),    right("99 %", 8), right("99.9 %", 6),
                 right("max", 7)};
  for (std::size_t i = 0; i < std::min(test.rows.size(), kMostRowsShown); ++i) {
    const LinkRow& row = test.rows[i];
    all.rows.push_back({format_bytes(row.bytes),
                        row.iterations ? format_number(*row.iterations, 12) : "",
                        rate_text(row.average), bits_text(row.average), rate_text(row.peak),
                        row.message_rate.value_or(0) > 0 ? format_number(*row.message_rate) : "",
                        time_text(row.t_min), time_text(row.t_typical), time_text(row.t_avg),
                        row.post_share ? core::format_percent(*row.post_share) : "",
                        time_text(row.t_p99), time_text(row.t_p999), time_text(row.t_max)});
  }
  core::Table table;
  table.rows.resize(all.rows.size());
  for (std::size_t column = 0; column < all.columns.size(); ++column) {
    const bool is_filled = std::any_of(all.rows.begin(), all.rows.end(),
                                       [&](const auto& row) { return !row[column].empty(); });
    if (!is_filled) continue;
    table.columns.push_back(all.columns[column]);
    for (std::size_t row = 0; row < all.rows.size(); ++row)
      table.rows[row].push_back(all.rows[row][column]);
  }
  return table;
}

std::string cell_text(const LinkMatrix& matrix, std::size_t row, std::size_t column) {
  const auto figure = matrix.cell(row, column);
  return figure ? format_number(*figure) : "-";
}

// Cells between two devices, or all of them where one side is the host.
struct Spread {
  std::vector<double> between = {};
  std::vector<double> inside = {};
  std::string lowest_at = {};
};
Spread spread_of(const LinkMatrix& matrix) {
  Spread spread;
  const bool has_diagonal = matrix.kind != curve::MatrixKind::kHostToDevice &&
                            matrix.kind != curve::MatrixKind::kDeviceToHost &&
                            matrix.kind != curve::MatrixKind::kLocalCopy && matrix.rows.size() > 1;
  double lowest = 0;
  for (std::size_t row = 0; row < matrix.rows.size(); ++row)
    for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
      const auto figure = matrix.cell(row, column);
      if (!figure) continue;
      if (has_diagonal && matrix.rows[row] == matrix.columns[column]) {
        if (*figure > 0) spread.inside.push_back(*figure);
        continue;
      }
      if (spread.between.empty() || *figure < lowest) {
        lowest = *figure;
        spread.lowest_at = has_diagonal
                               ? fmt::format("{}-{}", matrix.rows[row], matrix.columns[column])
                               : std::to_string(matrix.columns[column]);
      }
      spread.between.push_back(*figure);
    }
  return spread;
}

// The upper one of two in the middle.
double median(std::vector<double> figures) {
  return diagnose::typical_of(std::move(figures), diagnose::Middle::kUpper).median;
}

core::Table full_matrix(const LinkMatrix& matrix) {
  core::Table table;
  table.columns = {right("")};
  for (const int column : matrix.columns) table.columns.push_back(right(std::to_string(column)));
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    std::vector<std::string> cells = {std::to_string(matrix.rows[row])};
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      cells.push_back(cell_text(matrix, row, column));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_results(std::vector<Block>& blocks, const LinkTest& test) {
  if (!test.matrices.empty()) {
    const core::Table table = link_matrices_table(test);
    if (!table.rows.empty()) blocks.emplace_back(table);
  }
  if (test.rows.empty()) return;
  blocks.emplace_back(rows_table(test));
  if (const auto fit = link_test_fit(test))
    blocks.emplace_back(core::Paragraph{"fit: " + fit_sentence(*fit)});
  if (test.rows.size() > kMostRowsShown)
    blocks.emplace_back(core::Paragraph{fmt::format("and {} more sizes; --json has all of them",
                                                    test.rows.size() - kMostRowsShown)});
}

void add_test(std::vector<Block>& blocks, const LinkTest& test) {
  blocks.emplace_back(core::Heading{name_of(test)});
  core::KeyValues facts;
  facts.rows.emplace_back("file", place_of(test));
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts.rows.emplace_back(name, text);
  };
  add("test", test.title);
  add("host", test.host);
  add("link", link_text(test));
  add("buffer", buffer_text(test));
  if (!test.devices.empty() && !test.devices.front().name.empty())
    add("devices", fmt::format("{} x {}", test.devices.size(), test.devices.front().name));
  if (test.rows.empty() && test.matrices.empty()) add("result", "none in this text");
  blocks.emplace_back(std::move(facts));
  add_results(blocks, test);
}

std::string result_text(const LinkTest& test) {
  if (const LinkRow* row = fastest(test))
    return fmt::format("{} at {}", format_bandwidth(*row->average), format_bytes(row->bytes));
  if (!test.rows.empty() && test.rows.front().latency())
    return fmt::format("{} at {}", format_duration(*test.rows.front().latency()),
                       format_bytes(test.rows.front().bytes));
  if (!test.matrices.empty())
    return fmt::format("{} {}", test.matrices.size(),
                       test.matrices.size() == 1 ? "matrix" : "matrices");
  return test.errors.empty() ? "none" : "error";
}

core::Table overview(const Tests& tests) {
  core::Table table;
  table.columns = {left("test"), left("link", 7), left("buffer", 6), left("result"),
                   left("where", 8)};
  for (std::size_t i = 0; i < std::min(tests.size(), kMostListed); ++i)
    table.rows.push_back({name_of(*tests[i]), tests[i]->link_type,
                          tests[i]->gpu.is_used ? "GPU" : "", result_text(*tests[i]),
                          place_of(*tests[i])});
  return table;
}

}  // namespace

std::optional<model::Fit> link_test_fit(const LinkTest& test) {
  if (test.tool != curve::LinkTool::kNixlbench) return std::nullopt;
  std::vector<model::FitPoint> points;
  for (const LinkRow& row : test.rows)
    if (row.t_avg && *row.t_avg > core::Duration()) points.push_back({row.bytes, *row.t_avg});
  return model::fit_line(points, {});
}

core::Table link_matrices_table(const LinkTest& test) {
  core::Table table;
  table.columns = {left("matrix"), right("devices", 6), right("median"), right("least"),
                   left("at", 7),  right("most"),       right("unit"),   right("inside", 6)};
  for (const LinkMatrix& matrix : test.matrices) {
    const Spread spread = spread_of(matrix);
    if (matrix.kind == curve::MatrixKind::kConnectivity || spread.between.empty()) continue;
    const auto [least, most] = std::minmax_element(spread.between.begin(), spread.between.end());
    table.rows.push_back(
        {matrix.name.empty() ? matrix.title : matrix.name, std::to_string(matrix.columns.size()),
         format_number(median(spread.between)), format_number(*least), spread.lowest_at,
         format_number(*most), curve::cell_unit_name(matrix.unit),
         spread.inside.empty() ? "" : format_number(median(spread.inside))});
  }
  return table;
}

std::vector<Block> link_test_blocks(const Tests& tests) {
  std::vector<Block> blocks;
  if (tests.size() <= kMostInFull) {
    for (const LinkTest* test : tests) add_test(blocks, *test);
    return blocks;
  }
  blocks.emplace_back(core::Heading{fmt::format("{} tests of links", tests.size())});
  blocks.emplace_back(overview(tests));
  if (tests.size() > kMostListed)
    blocks.emplace_back(core::Paragraph{
        fmt::format("and {} more; --json has all of them", tests.size() - kMostListed)});
  return blocks;
}

std::vector<Block> link_test_details(const Tests& tests) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < std::min(tests.size(), kMostListed); ++i) {
    if (tests.size() > kMostInFull) add_test(blocks, *tests[i]);
    for (const LinkMatrix& matrix : tests[i]->matrices) {
      if (matrix.columns.size() > kWidestMatrix) continue;
      blocks.emplace_back(core::Heading{matrix.title.empty() ? matrix.name : matrix.title});
      blocks.emplace_back(full_matrix(matrix));
    }
  }
  return blocks;
}

}  // namespace comm_probe::cli
