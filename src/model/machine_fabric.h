// The links of a machine of the catalog as a Fabric: what one GPU sends to its neighbours, what it
// sends to other nodes, both at the rate of the links and one direction; alpha from NCCL's table.
//   inside    NVLinks of one GPU in use here, else its PCIe link after packet overhead
//             (catalog::inside_rates: two GPUs of a mesh have only the links between them)
//   between   the NICs nearest to the ranks (catalog::network_out)
// Worked example: two DGX H100: 450 GB/s inside, 400 GB/s / 8 = 50 GB/s between, alpha 3.4 and
// 14 us with Simple.
#pragma once

#include "catalog/hardware.h"
#include "model/closed_form.h"

namespace comm_probe::model {

struct MachineRanks {
  int ranks = 0;
  int nodes = 1;
};
// Refuses ranks below 1, ranks that do not fill the nodes evenly or exceed their GPUs, several
// nodes without a NIC, and one node whose GPUs have no link.
core::Result<Fabric> fabric_of(const catalog::Machine& machine, const MachineRanks& ranks,
                               Protocol protocol);

// True where NCCL may reduce in the switches: NVSwitch with multicast (compute capability 9.0 and
// up).
bool can_reduce_in_switch(const catalog::Machine& machine);

}  // namespace comm_probe::model
