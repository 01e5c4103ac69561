// Which of several machines that should be alike is the odd one out, and in what: findings with the
// lines of both sides. Facts come from topology::compare.
//
//   node0 ... node7, in node5 GPU3 has 8 lanes
//     -> topo.diff-link: node5: GPU3 has slot gen5 x8, 7 of 8 machines have gen5 x16
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "core/json.h"
#include "topology/difference.h"

namespace comm_probe::diagnose {

struct TopoDiff {
  static constexpr int kSeveral = -1;
  std::vector<core::Finding> findings = {};
  std::vector<int> machines = {};  // that each finding is about; kSeveral for none alone
  core::Json differences = core::Json::array();
  core::Json rails = core::Json::array();  // the NIC of every GPU: the usual one, then the odd ones
  std::vector<int> odd = {};               // machines, in order
};

// `names` are those of the machines as people should read them.
TopoDiff diff_topologies(const std::vector<topology::Survey>& surveys,
                         const std::vector<std::string>& names);

}  // namespace comm_probe::diagnose
