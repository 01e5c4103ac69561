// The memory of one process's ranks and, mapped into it, that of the other processes.
#pragma once

#include <vector>

#include "measure/engines/cuda/all_reduce_memory.h"
#include "measure/engines/cuda/all_reduce_world.h"
#include "measure/engines/cuda/resources.h"

namespace comm_probe::measure::cuda {

class AllReducePeers {
 public:
  // Allocates, tells the others, and maps what they have told. Collective: all processes call it.
  // Fails where the memory does not suffice or a GPU cannot reach another one's.
  static core::Result<AllReducePeers> join(const AllReduceMemory& memory,
                                           const AllReduceWorld& world, int process);

  // With the addresses of all ranks as this process sees them.
  AllReduceCall call() const { return call_; }

 private:
  AllReducePeers(DeviceBuffer own, std::vector<Owned<Address>> mapped, AllReduceCall call)
      : own_(std::move(own)), mapped_(std::move(mapped)), call_(call) {}
  DeviceBuffer own_;
  std::vector<Owned<Address>> mapped_;
  AllReduceCall call_;
};

}  // namespace comm_probe::measure::cuda
