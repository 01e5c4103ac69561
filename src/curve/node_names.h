// Which nodes does a result speak of? The hosts that its header lists; else the names that stand in
// the name of its file.
//
//   "all_reduce_node12-node37.txt"         -> node12, node37
//   "gpu-node-12_gpu-node-37_a2a.log"      -> gpu-node-12, gpu-node-37
//   "c55_2n_alltoall.txt"                  -> none
#pragma once

#include <string>
#include <vector>

#include "curve/curve.h"

namespace comm_probe::curve {

// In order, each once; empty where the name holds none, or more than two.
std::vector<std::string> nodes_of_file_name(const std::string& path);
// The hosts of the list of devices in order of their ranks, else those of the file name where they
// do not contradict the number of nodes that is known.
std::vector<std::string> nodes_of(const Curve& curve);

}  // namespace comm_probe::curve
