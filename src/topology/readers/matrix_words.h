// The words of one line of a pasted device matrix: colour codes removed, glued words split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::topology {

// "\x1b[4mGPU0" -> "GPU0"
std::string without_colour(std::string_view line);
// Separated by blanks and tabs.
std::vector<std::string> words_of(std::string_view line);
// "GPU0", "NIC11", "mlx5_0", "mlx5_bond_0", "bnxt_re0", ...
bool is_device_label(std::string_view word);
// "NIC11NIC12" -> NIC11, NIC12; one word where it is not made of several.
std::vector<std::string> split_labels(const std::string& word);
// "NODENODE" -> NODE, NODE; empty where the word is not made of matrix words.
std::vector<std::string> split_cells(const std::string& word);

}  // namespace comm_probe::topology
