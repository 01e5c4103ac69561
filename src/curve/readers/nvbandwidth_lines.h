// What nvbandwidth's titles say, whether they stand in its text or in its JSON.
#pragma once

#include <optional>
#include <string_view>

#include "curve/link_test.h"

namespace comm_probe::curve {

// "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)" -> a matrix without figures; nothing where
// the text is no title of nvbandwidth.
std::optional<LinkMatrix> read_nvbandwidth_title(std::string_view title);
// What the name of the test adds: "device_to_host_bidirectional_memcpy_ce".
void name_nvbandwidth_matrix(std::string_view name, LinkMatrix& matrix);

}  // namespace comm_probe::curve
