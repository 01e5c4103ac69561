#include "diagnose/link_matrices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::diagnose {

using curve::LinkMatrix;

std::vector<double> figures_between(const LinkMatrix& matrix) {
  std::vector<double> figures;
  for (std::size_t row = 0; row < matrix.rows.size(); ++row)
    for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
      const auto figure = matrix.cell(row, column);
      if (figure && *figure > 0 && matrix.rows[row] != matrix.columns[column])
        figures.push_back(*figure);
    }
  return figures;
}

bool has_every_pair(const LinkMatrix& matrix) {
  return matrix.rows == matrix.columns &&
         figures_between(matrix).size() == matrix.columns.size() * (matrix.columns.size() - 1);
}

bool compares_gpus(const LinkMatrix& matrix) {
  return matrix.kind == curve::MatrixKind::kDeviceToDevice && !matrix.bidirectional &&
         matrix.peer_access != curve::PeerAccess::kDisabled &&
         matrix.unit == curve::CellUnit::kGBps;
}

core::Evidence matrix_row_evidence(const curve::LinkTest& test, const LinkMatrix& matrix,
                                   std::size_t row) {
  std::vector<std::string> cells;
  for (std::size_t column = 0; column < std::min<std::size_t>(matrix.columns.size(), 16);
       ++column) {
    const auto figure = matrix.cell(row, column);
    cells.push_back(figure ? core::format_number(*figure) : "-");
  }
  return {test.file, row < matrix.row_lines.size() ? matrix.row_lines[row] : matrix.line,
          fmt::format("{}, row {}: {}", name_of(matrix), matrix.rows[row], fmt::join(cells, " "))};
}

std::string name_of(const LinkMatrix& matrix) {
  return matrix.name.empty() ? matrix.title : matrix.name;
}

}  // namespace comm_probe::diagnose
