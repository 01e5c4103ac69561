// The lines of a matrix of devices: a line of column numbers, then one line per row.
//
//      D\D     0      1            -> columns 0 1
//        0 801.28  22.23           -> row 0
//        1  22.32 813.80           -> row 1
#pragma once

#include "curve/readers/link_reader.h"

namespace comm_probe::curve {

class MatrixRows {
 public:
  // What follows belongs to this matrix.
  void begin(LinkMatrix matrix);
  bool is_open() const { return is_open_; }
  bool has_rows() const { return !matrix_.rows.empty(); }
  // The word in the corner of the line of columns: "D\D", "GPU", "CPU"; empty where there is none.
  const std::string& corner() const { return corner_; }
  LinkMatrix& matrix() { return matrix_; }
  // False where the line is neither columns nor a row.
  bool take(const LinkLine& line);
  // The matrix, marked where rows are missing; `square`: as many rows as columns are expected.
  LinkMatrix finish(bool square);

 private:
  bool take_columns(const LinkLine& line);
  bool take_row(const LinkLine& line);

  LinkMatrix matrix_ = {};
  std::string corner_ = {};
  bool is_open_ = false;
};

// "user@node00:~/dir$ ./nvbandwidth" -> "node00"; empty where the line is no prompt.
std::string host_of_prompt(std::string_view line);

}  // namespace comm_probe::curve
