// Who waits for whom, as the wait-for graph was built: every collective that some rank cannot
// leave, with the members that hold it back. The path to a verdict, for people who want to follow
// it.
//
//   call 7 of group "2": rank 4 waits, rank 5 has not issued it
#pragma once

#include <string>
#include <vector>

#include "torch/job.h"

namespace comm_probe::diagnose {

struct WaitLine {
  std::string call = {};             // "all_reduce 7 of group 2"
  std::vector<int> ranks = {};       // whose oldest open call it is
  std::vector<int> not_issued = {};  // members without it
  std::vector<int> behind = {};      // members that have issued it behind an older open call
  std::vector<int> not_known = {};   // no dump, a cut one, or lost by the ring
};
// In the order in which ranks began to wait, by rank.
std::vector<WaitLine> wait_lines(const torch::Job& job);

}  // namespace comm_probe::diagnose
