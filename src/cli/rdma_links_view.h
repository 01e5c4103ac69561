// What `link --only net` shows of RDMA write and read.
#pragma once

#include <vector>

#include "core/document.h"
#include "core/json.h"
#include "measure/engines/verbs/rdma_links.h"

namespace comm_probe::cli {

// {device, port, link_layer, mtu_bytes, gid {index, type, address} or null, rows[] = {bytes,
// write_us, read_us, write_GBps, read_GBps, registration_us, withdrawal_us}}
core::Json rdma_json(const measure::verbs::RdmaLinks& links);
// A heading that names the port and its GID, and the table.
std::vector<core::Block> rdma_blocks(const measure::verbs::RdmaLinks& links);

}  // namespace comm_probe::cli
