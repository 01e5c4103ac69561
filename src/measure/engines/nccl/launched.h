// Who started this process, and as which of how many? Launchers say it in the environment:
//
//   Open MPI's mpirun   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK
//   srun                SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_STEP_NODELIST
//   torchrun            RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
//
//   RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 MASTER_ADDR=node1 MASTER_PORT=29500 ->
//   {rank 3, size 8, local_rank 1, address "node1", port 29501}
//
// The processes meet at the address of the first one (meeting.h), one port above MASTER_PORT, where
// torchrun's own store listens.
#pragma once

#include <string>

#include "core/host.h"
#include "core/result.h"

namespace comm_probe::measure::nccl {

struct Launched {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string address = {};  // of the first process; empty: no launcher told it
  int port = 0;
  std::string launcher = {};  // "mpirun", "srun", "torchrun"; empty: started alone

  bool is_alone() const { return size <= 1; }
};

// Fails where the variables contradict each other.
core::Result<Launched> launched_as(const core::Host& host);

// "node[03-10,12]" -> "node03", "a1,b2" -> "a1": the first host of SLURM's list.
std::string first_slurm_host(const std::string& list);

}  // namespace comm_probe::measure::nccl
