// Reads the matrix of `nvidia-smi topo -m` as people paste it: tabs or blanks, colour codes, shell
// prompts and log prefixes, with or without affinity columns, NIC legend or header, with columns
// glued together ("NODENODE", "NIC11NIC12") or rows cut off. What is missing becomes a caveat.
//
// Refused, with what was found: a text without such a matrix, `nvidia-smi topo -p2p` (OK, NS), and
// `nvidia-smi nvlink -s`. A second matrix in the same text is not read, and a caveat says so.
#pragma once

#include "core/input.h"
#include "topology/device_matrix.h"

namespace comm_probe::topology {

core::Result<DeviceMatrix> read_nvidia_smi_topo(core::Input& input);

}  // namespace comm_probe::topology
