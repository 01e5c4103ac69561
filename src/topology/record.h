// Records a machine, so that it can be looked at elsewhere: the part of /sys and /proc that
// topology/ reads, what the GPU driver says, the output of the usual commands, and the settings of
// NCCL and CUDA in the environment. The tar is what core::Host replays.
//
//   sys/...  proc/...  environment  nvml.json  recorded_at  commands/nvidia-smi_topo_-m.txt
//
// Left out: MAC addresses, serial numbers, the kernel command line except what concerns the IOMMU.
// Left in: the host's GUIDs and GIDs (which hold IP addresses).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/archive.h"
#include "core/host.h"

namespace comm_probe::topology {

struct Recording {
  core::Archive archive = {};
  std::vector<std::string> commands = {};      // whose output is in it: "nvidia-smi topo -m"
  std::vector<std::string> missing = {};       // that are not here, or failed
  std::map<std::string, double> seconds = {};  // that each command took
};

Recording record_machine(const core::Host& host);

// What is asked for, in this order.
// `ethtool -S` and `mlnx_qos -i` for each interface of an RDMA port among them.
std::vector<std::vector<std::string>> recorded_commands(const core::Host& host);

}  // namespace comm_probe::topology
