// The kinds of links of a machine for people and for JSON: three named bandwidths and the line
// rate, side by side.
#pragma once

#include "core/document.h"
#include "topology/survey.h"

namespace comm_probe::cli {

std::vector<core::Block> link_blocks(const topology::Machine& machine);
// result.links and result.nvlink_over_nics of `topo show`.
void add_links(const topology::Machine& machine, core::Json& result);

// PCIe root ports with what hangs below each. NCCL's graph has no node for them, for it reckons
// with switches and CPUs alone; the kernel shows them.
std::vector<core::Block> root_port_blocks(const topology::Survey& survey);
void add_root_ports(const topology::Survey& survey, core::Json& result);

}  // namespace comm_probe::cli
