// What the rules for matrices of GPUs share: which figures lie between two GPUs, whether every pair
// has one, and how a row is quoted.
//
// Worked example (tests/unit/diagnose/link_gpu_rules_test.cc): four GPUs have twelve figures
// between them; with one "0.00" there are eleven, and the matrix is not complete.
#pragma once

#include <vector>

#include "curve/link_test.h"

namespace comm_probe::diagnose {

// name, value, applies when, source
inline constexpr std::size_t kLeastGpus = 4;  // of fewer none is the odd one
inline constexpr double kNvlinkGBps = 100;    // no PCIe gen5 x16 link carries more (56 GB/s)

// The figures of two different GPUs that are above 0 (a copy that failed shows 0).
std::vector<double> figures_between(const curve::LinkMatrix& matrix);
// Rows and columns are the same GPUs, and every GPU has a figure with every other one.
bool has_every_pair(const curve::LinkMatrix& matrix);
// Rates of copies between GPUs, one direction, with P2P or not said: what GPUs are compared by.
bool compares_gpus(const curve::LinkMatrix& matrix);
// "NAME, row 3: 22.1 22.3 - 22.0"
core::Evidence matrix_row_evidence(const curve::LinkTest& test, const curve::LinkMatrix& matrix,
                                   std::size_t row);
// Its name, else its title.
std::string name_of(const curve::LinkMatrix& matrix);

}  // namespace comm_probe::diagnose
