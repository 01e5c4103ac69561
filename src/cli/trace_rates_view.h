// The table of collectives beside their model, what merging them would save, and which
// implementation carried them.
#pragma once

#include <vector>

#include "cli/trace_across_view.h"

namespace comm_probe::cli {

// Groups of one kind (every node's tensor-parallel group) share a row: that of their median.
std::vector<core::Block> rate_blocks(const AcrossView& view);
// Every group for itself, where that is more.
std::vector<core::Block> rate_details(const AcrossView& view);

}  // namespace comm_probe::cli
