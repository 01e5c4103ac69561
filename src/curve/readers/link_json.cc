#include "curve/readers/link_json.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/finding_table.h"
#include "curve/readers/link_reader.h"
#include "curve/readers/nvbandwidth_lines.h"
#include "curve/readers/perftest_lines.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

using core::Json;

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::optional<double> number_of(const Json& value) {
  double number = -1;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_string()) {
    const auto parsed = parse_decimal(trim(value.get_ref<const std::string&>()));
    if (parsed) number = *parsed;
  }
  return std::isfinite(number) && number >= 0 && number <= kLargestFigure ? std::optional(number)
                                                                          : std::nullopt;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? std::to_string(value.get<std::int64_t>()) : "";
}

std::optional<core::Duration> time_of(const Json& result, const char* key) {
  const auto us = number_of(member(result, key));
  return us ? std::optional(core::Duration::from_us(*us)) : std::nullopt;
}

// Bytes per second of the printed bandwidths; nothing where neither unit fits.
std::optional<double> unit_of(double bytes, double average, double messages_per_second) {
  for (const double unit : {1e9 / 8, 1048576.0}) {
    const double printed = average * unit, implied = bytes * messages_per_second;
    if (std::abs(printed - implied) <= 0.02 * std::max(printed, implied)) return unit;
  }
  return std::nullopt;
}

bool add_result(const Json& result, LinkTest& test) {
  const auto bytes = number_of(member(result, "MsgSize"));
  if (!bytes || *bytes > 9007199254740992.0) return false;
  LinkRow row;
  row.bytes = core::Bytes::of(*bytes);
  row.iterations = number_of(member(result, "n_iterations"));
  row.line = 1;
  row.t_min = time_of(result, "t_min");
  row.t_max = time_of(result, "t_max");
  row.t_typical = time_of(result, "t_typical");
  row.t_avg = time_of(result, "t_avg");
  row.t_stdev = time_of(result, "t_stdev");
  const auto average = number_of(member(result, "BW_average"));
  const auto rate = number_of(member(result, "MsgRate"));
  if (rate) row.message_rate = *rate * 1e6;
  const auto unit = average && rate ? unit_of(*bytes, *average, *rate * 1e6) : std::nullopt;
  if (unit) {
    row.average = core::Bandwidth::from_bytes_per_second(*average * *unit);
    if (const auto peak = number_of(member(result, "BW_peak")))
      row.peak = core::Bandwidth::from_bytes_per_second(*peak * *unit);
  }
  if (!row.average && !row.latency()) return false;
  if (test.rows.size() < kMostLinkRows) test.rows.push_back(row);
  return true;
}

void read_perftest(const Json& document, Reading& reading) {
  LinkTest test;
  test.tool = LinkTool::kPerftest;
  test.file = reading.file;
  test.first_line = test.last_line = 1;
  const Json& info = member(document, "test_info");
  std::string title = text_of(member(info, "test"));
  std::replace(title.begin(), title.end(), '_', ' ');
  // The underscore of RDMA_Write is the title's own.
  for (const char* verb : {"RDMA Write", "RDMA Read"})
    if (title.starts_with(verb)) title[4] = '_';
  read_perftest_title(title, test);
  for (const auto& [key, value] : info.items()) set_perftest_field(key, text_of(value), test);
  const Json& cuda = member(info, "cuda_device");
  if (!cuda.is_null()) {
    test.gpu.is_used = true;
    test.gpu.device = parse_small(text_of(cuda));
  }
  const Json& results = member(document, "results");
  std::size_t refused = 0;
  const auto add = [&](const Json& result) { refused += add_result(result, test) ? 0 : 1; };
  if (results.is_array())
    for (const Json& result : results) add(result);
  else
    add(results);
  test.is_cut = test.rows.empty();
  if (refused > 0)
    reading.caveats.push_back(core::make_caveat(
        "input.unit-unknown",
        reading.file + ": a result whose bandwidth fits its message rate in no unit, or without "
                       "figures",
        "it was left out", true));
  reading.kind = link_tool_name(test.tool);
  reading.links.push_back(std::move(test));
}

std::optional<LinkMatrix> matrix_of(const Json& testcase) {
  auto matrix = read_nvbandwidth_title(text_of(member(testcase, "bandwidth_description")));
  const Json& rows = member(testcase, "bandwidth_matrix");
  if (!matrix || !rows.is_array() || rows.empty() || !rows.front().is_array()) return std::nullopt;
  name_nvbandwidth_matrix(text_of(member(testcase, "name")), *matrix);
  const std::size_t columns = rows.front().size();
  if (columns == 0 || rows.size() * columns > kMostMatrixCells) return std::nullopt;
  for (std::size_t column = 0; column < columns; ++column)
    matrix->columns.push_back(static_cast<int>(column));
  for (const Json& row : rows) {
    matrix->rows.push_back(static_cast<int>(matrix->rows.size()));
    matrix->row_lines.push_back(1);
    for (std::size_t column = 0; column < columns; ++column) {
      const bool there = row.is_array() && column < row.size();
      matrix->cells.emplace_back(there ? number_of(row[column]) : std::nullopt);
    }
  }
  matrix->sum = number_of(member(testcase, "sum"));
  matrix->line = 1;
  return matrix;
}

void read_nvbandwidth(const Json& body, Reading& reading) {
  LinkTest test;
  test.tool = LinkTool::kNvbandwidth;
  test.program = "nvbandwidth";
  test.file = reading.file;
  test.first_line = test.last_line = 1;
  test.version = text_of(member(body, "version"));
  std::size_t cells = 0;
  for (const Json& testcase : member(body, "testcases")) {
    auto matrix = matrix_of(testcase);
    if (!matrix) continue;
    cells += matrix->cells.size();
    if (cells > kMostMatrixCells || test.matrices.size() >= kMostLinkRows) break;
    test.matrices.push_back(std::move(*matrix));
  }
  test.is_cut = test.matrices.empty();
  reading.kind = link_tool_name(test.tool);
  reading.links.push_back(std::move(test));
}

}  // namespace

bool read_link_json(const Json& document, Reading& reading) {
  if (member(document, "test_info").is_object()) {
    read_perftest(document, reading);
    return true;
  }
  const Json& nvbandwidth = member(document, "nvbandwidth");
  if (!nvbandwidth.is_object()) return false;
  read_nvbandwidth(nvbandwidth, reading);
  return true;
}

}  // namespace comm_probe::curve
