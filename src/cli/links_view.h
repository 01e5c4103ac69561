// The kinds of links of a machine for people and for JSON: three named bandwidths and the line
// rate, side by side.
#pragma once

#include "core/document.h"
#include "topology/machine.h"

namespace comm_probe::cli {

std::vector<core::Block> link_blocks(const topology::Machine& machine);
// result.links and result.nvlink_over_nics of `topo show`.
void add_links(const topology::Machine& machine, core::Json& result);

}  // namespace comm_probe::cli
