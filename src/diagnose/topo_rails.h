// Do the rails of several machines line up? NCCL gives every GPU a NIC on its own machine, and a
// send to GPU k of another one leaves on the rail that GPU k has here; where GPU k has another NIC
// there, the traffic crosses from rail to rail in the network (nccl/rails.h). Machines may have
// NICs in another order, fewer or more of them.
//
//   node0..2: GPU1 has mlx5_1; node3: GPU1 has mlx5_2
//     -> told with what else differs on node3 ("rails: GPU1 has mlx5_2, elsewhere mlx5_1"), else
//     topo.diff-rails names node3
#pragma once

#include <string>
#include <vector>

#include "diagnose/topo_diff.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

// The NIC of every GPU by the GPU's index ("mlx5_0 or mlx5_1" where NCCL takes two for equal);
// empty where the source shows no graph or NCCL would refuse the machine.
std::vector<std::string> nics_of_gpus(const topology::Survey& survey);

// Adds to what differs.
void compare_rails(const std::vector<topology::Survey>& surveys,
                   const std::vector<std::string>& names, TopoDiff& diff);

}  // namespace comm_probe::diagnose
