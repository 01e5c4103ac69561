// How the lines of one problem of NCCL's log are put into words, for the rules that judge them.
//
//   hca mlx5_3 in 14 lines of 3 processes of node03 and node04
//   -> tally: "hca mlx5_3 in all 14 lines", whereabouts: " on 3 processes of node03 and node04"
#pragma once

#include <string>
#include <vector>

#include "nccl/debug_log.h"

namespace comm_probe::diagnose {

// A value that the first line states ("status", "error"); empty where it does not.
std::string field(const nccl::LogProblem& problem, const char* name);
// "hca mlx5_3 in all 14 lines", "2 HCAs, most often mlx5_3 (9 of 14)"; empty where none is named.
std::string tally(const nccl::LogProblem& problem, const std::string& kind, const char* plural);
// " on node03", " on 3 processes of node03 and node04"; empty where the lines name no host
std::string whereabouts(const nccl::DebugLog& log, const nccl::LogProblem& problem);
// Without those that are empty.
std::string joined(std::vector<std::string> parts, const char* between = ", ");

}  // namespace comm_probe::diagnose
