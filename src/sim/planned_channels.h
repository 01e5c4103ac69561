// The rings and trees that NCCL plans for a job, and how many of its channels use each. Every
// channel carries an equal part of the bytes, and leaves a node by the NIC of the rank that the
// plan puts there.
#pragma once

#include <vector>

namespace comm_probe::sim {

struct PlannedRing {
  std::vector<int> order = {};  // all ranks, from rank 0 on
  int channels = 1;
};
struct PlannedTree {
  std::vector<int> parent = {};  // by rank; -1: the root
  int channels = 1;
};
struct PlannedChannels {
  int ranks = 0;
  std::vector<PlannedRing> rings = {};
  std::vector<PlannedTree> trees = {};
  bool is_empty() const { return rings.empty(); }
};

}  // namespace comm_probe::sim
