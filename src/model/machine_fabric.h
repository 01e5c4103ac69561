// The links of a machine of the catalog as a Fabric: what one GPU sends to its neighbours, what it
// sends to other nodes, both at the rate of the links and one direction; alpha from NCCL's table.
//   inside    NVLinks of one GPU in use here, else its PCIe link after packet overhead
//   between   the NICs of a node over its ranks, at most what the slot of a NIC and the GPU's PCIe
//             link let through
// Worked example: two DGX H100: 450 GB/s inside, 400 GB/s / 8 = 50 GB/s between, alpha 3.4 and
// 14 us with Simple.
#pragma once

#include <span>

#include "catalog/hardware.h"
#include "model/closed_form.h"

namespace comm_probe::model {

enum class StepClass { kNvlink, kPcie, kNetwork };

// One step of a ring, without the measured constant of this machine.
struct StepAlpha {
  StepClass step;
  Protocol protocol;
  double alpha_us;
  const char* source;
};
std::span<const StepAlpha> step_alphas();
core::Duration step_alpha(StepClass step, Protocol protocol);

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
