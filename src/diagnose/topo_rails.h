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

// Adds to what differs.
void compare_rails(const std::vector<topology::Survey>& surveys,
                   const std::vector<std::string>& names, TopoDiff& diff);

}  // namespace comm_probe::diagnose
