// What the NVIDIA driver says of its GPUs, through NVML (libnvidia-ml.so.1, loaded at run time):
// order and bus ids, compute capability, every NVLink with state, generation and far end, the state
// of the NVLink fabric, and for each pair whether P2P reads and writes are allowed. Names, types
// and enumerators: NVML API reference, R535 and later; functions that an older library lacks are
// left out.
//
//   H200 in a virtual machine: GPU 0, 0000:00:06.0, sm 90, no active NVLink, no pair
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "topology/host_facts.h"

namespace comm_probe::topology {

// GPUs, NVLinks and peers. Fails with kMissing where there is no library, no driver or no GPU that
// this process may see. `library` is the file to load, for tests.
core::Result<HostFacts> read_nvml(const char* library = "libnvidia-ml.so.1");

// What a GPU does just now.
struct GpuUse {
  std::string bus_id = {};
  std::optional<int> busy_percent = {};  // of the last second or less, as the driver counts
  std::optional<int> processes = {};     // that compute on it, as far as they are shown
};
// In NVML's order; empty where there is no NVML.
std::vector<GpuUse> read_gpu_use(const char* library = "libnvidia-ml.so.1");

}  // namespace comm_probe::topology
