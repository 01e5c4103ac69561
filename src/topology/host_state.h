// HostState: what of a host can starve communication although every device works: CPU time that the
// cgroup grants and withholds, the CPUs that a process may run on, /dev/shm, and what GPU-initiated
// RDMA needs of the driver. Read of the process that asks: run it where the job runs (srun,
// docker exec). Sources: cgroup v1 and v2 of the kernel (cpu.max, cpu.stat), /proc/self/status,
// /proc/self/mounts, /proc/driver/nvidia/params.
//
//   cpu.max "400000 100000" = 4 CPUs; cpu.stat nr_periods 100, nr_throttled 25: in a quarter of the
//   periods every thread of the group stood still
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/host.h"
#include "topology/host_facts.h"

namespace comm_probe::topology {

struct Throttling {
  std::uint64_t periods = 0;
  std::uint64_t throttled = 0;      // periods in which the quota was used up
  core::Duration stood_still = {};  // all CPUs together
};

// A GPU and the CPUs of its NUMA node.
struct GpuPlace {
  int index = 0;
  std::string bus_id = {};
  std::optional<int> numa = {};
  std::vector<int> cpus = {};
};

struct HostState {
  std::string source = {};
  std::vector<int> online = {};
  Fact<std::vector<int>> allowed = {};  // empty where not known
  MaybeFact<double> quota = {};         // CPUs
  MaybeFact<Throttling> throttling = {};
  MaybeFact<core::Bytes> shared_memory = {};  // size of /dev/shm
  std::vector<GpuPlace> gpus = {};            // those that the process may use
  // GPUs that a job started here would use for each process that asks; 1 where a launcher has
  // started this process as one rank of several.
  int ranks = 0;
  std::string one_rank = {};  // the variable that says so: "LOCAL_RANK=3"
  bool has_rdma = false;
  MaybeFact<bool> stream_memory_operations = {};  // NVreg_EnableStreamMemOPs
  MaybeFact<bool> peer_mapping_override = {};     // NVreg_RegistryDwords
  MaybeFact<bool> gdrcopy = {};
  MaybeFact<std::string> wants_ibgda = {};  // the variable that asks for it
};

HostState read_host_state(const core::Host& host);

// "0-3,8" for {0,1,2,3,8}.
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace comm_probe::topology
