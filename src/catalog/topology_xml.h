// A machine of the catalog in the schema of NCCL's topology files: system > cpu > pci > gpu, nic;
// what NCCL_TOPO_FILE reads and NCCL_TOPO_DUMP_FILE writes (NCCL 2.28.9, src/graph/xml.cc).
//
// Only what the catalog knows goes in. Bus ids are ours: branch b of the machine starts at bus
// 0x10 * (b + 1) in the order of its GPUs, NVSwitches at 0xf1; so they are not those of a real
// machine. The CPU affinity is empty. Switches carry no PCI ids, since NCCL reads these only to
// merge certain Broadcom switches.
//
//   DGX H100: 2 cpu, 8 gpu with nvlink counts 5 + 5 + 4 + 4, 8 net of 400000 Mb/s
#pragma once

#include <string>

#include "catalog/hardware.h"
#include "core/result.h"

namespace comm_probe::catalog {

// `trays` hosts of one NVLink domain in one file, as NCCL joins them; the ranks count on from tray
// to tray. Fails for GPUs that NCCL does not know (AMD), and for more trays than the domain has.
core::Result<std::string> topology_xml(const Machine& machine, int trays = 1);

}  // namespace comm_probe::catalog
