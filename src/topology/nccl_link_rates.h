// What NCCL reckons one link to carry, GB/s in one direction; which of its constants holds depends
// on the GPU, the CPU and the NCCL version. Source: NCCL src/graph/topo.h and topo.cc, tags 2.18 to
// 2.30 (base 2.28.9).
//
//   pci        lanes x speed value / 80       gen5 x16: 16 x 240 / 80 = 48
//   net        Mb/s / 8000                    400000 -> 50
//   NVLink     links x constant of the GPU    H100: 18 x 20.6 = 370.8
#pragma once

#include <string_view>

#include "topology/machine.h"

namespace comm_probe::topology {

// 2.28.9 is {2, 28, 9}.
struct NcclVersion {
  int major = 2;
  int minor = 28;
  int patch = 9;
  auto operator<=>(const NcclVersion&) const = default;
};

inline constexpr NcclRate kLocalRate = {5000};  // a node to itself and other links without a limit

// One NVLink of a GPU with this compute capability (90 = 9.0).
NcclRate nccl_nvlink_rate(int sm, NcclVersion version = {});
// From one CPU to another.
NcclRate nccl_cpu_link_rate(const Cpu& cpu, NcclVersion version = {});
// A speed text that is not in NCCL's table counts as 8 GT/s, no width as 16 lanes.
NcclRate nccl_pci_rate(const PciSlot& slot);
NcclRate nccl_net_rate(core::Bandwidth speed);

// NCCL's class of an Intel CPU: 1 Broadwell and older, 2 Skylake to Ice Lake, 3 Sapphire Rapids, 4
// Emerald Rapids and later; 1 for Zhaoxin Yongfeng; -1 where NCCL does not look at the model.
int nccl_cpu_model(const Cpu& cpu);

}  // namespace comm_probe::topology
