// Any bytes given to the readers of tests of links and of matrices of nodes: no crash, no more than
// the bounds that link_reader.h promises, and figures that are finite and in order.
#include <cstdlib>

#include "curve/node_matrix.h"
#include "curve/node_names.h"
#include "curve/readers/link_reader.h"

namespace {

using namespace comm_probe::curve;

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const LinkRow& row) {
  require(row.bytes.count() <= 9007199254740992.0 && row.line > 0);
  require(!row.average || row.average->in_GBps() <= 1e15);
  require(!row.latency() || (row.latency()->in_us() >= 0 && row.latency()->in_us() <= 1e15));
}

void check(const LinkMatrix& matrix) {
  require(matrix.cells.size() == matrix.rows.size() * matrix.columns.size());
  require(matrix.row_lines.size() == matrix.rows.size());
  for (const OptionalFigure& cell : matrix.cells) require(!cell || (*cell >= 0 && *cell <= 1e15));
}

void check(const LinkTest& test) {
  require(test.first_line > 0 && test.first_line <= test.last_line);
  require(test.rows.size() <= kMostLinkRows && test.errors.size() <= kMostLinkErrors);
  for (const LinkRow& row : test.rows) check(row);
  std::size_t cells = 0;
  for (const LinkMatrix& matrix : test.matrices) {
    check(matrix);
    cells += matrix.cells.size();
  }
  require(cells <= kMostMatrixCells);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto input = comm_probe::core::Input::from_memory("input", text);
  Reading reading = {.file = "input"};
  LinkReader links("input");
  comm_probe::core::LineReader lines(input);
  for (comm_probe::core::Line line; lines.next(line);) links.feed(line);
  links.finish(reading);
  require(reading.links.size() <= kMostLinkTests);
  for (const LinkTest& test : reading.links) check(test);
  auto again = comm_probe::core::Input::from_memory("input", text);
  if (is_node_matrix(text))
    if (const auto matrix = read_node_matrix(again))
      for (const Pair& pair : matrix->pairs) require(pair.node_a != pair.node_b && pair.line > 0);
  require(nodes_of_file_name(text.substr(0, 200)).size() <= 2);
  return 0;
}
