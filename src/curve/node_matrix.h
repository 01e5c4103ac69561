// A table of nodes against nodes: a line of names, then for each node its name and a figure for
// each column. Separated by commas, semicolons, tabs or blanks; empty, "-", "x" and "N/A" are no
// result.
//
//   ",node1,node2"                 Gb/s or GB/s in the corner or in a line before says the unit;
//   "node1,,391.2"                 without one the figures are taken for GB/s, which a caveat says
//   "node2,388.7,"                 -> node1 to node2 391.2, node2 to node1 388.7
#pragma once

#include "curve/curve.h"

namespace comm_probe::curve {

// The first lines are a header of names and a row of one of them.
bool is_node_matrix(std::string_view head);
core::Result<Reading> read_node_matrix(core::Input& input);

}  // namespace comm_probe::curve
