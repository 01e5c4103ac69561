// Calls, places and ranks as people read them.
#pragma once

#include <string>
#include <vector>

#include "torch/job.h"

namespace comm_probe::diagnose {

// "all_reduce [[1024]] Float", "coalesced of 2: _all_gather_base [[256]] -> [[1024]] BFloat16, ..."
std::string call_text(const torch::Digest& digest, const torch::Work& work);
// "all_reduce", "send 0->1", "coalesced{_all_gather_base x2}"
std::string op_text(const torch::Digest& digest, const torch::Work& work);
// "step.py:101 train_step_1": the first frame of the program; empty without a stack
std::string site_text(const torch::Digest& digest, const torch::Work& work);
std::vector<std::string> stack_lines(const torch::Digest& digest, const torch::Work& work,
                                     std::size_t most);
// "group 2 (TENSOR_MODEL_PARALLEL_GROUP, ranks 4-7)"
std::string group_text(const torch::Group& group);
// "rank 3", "ranks 3, 7", "ranks 3, 11, 19, ... 1019 (128)"
std::string ranks_text(const std::vector<int>& ranks);
// "rank 3 has", "ranks 3, 7 have"
std::string ranks_have(const std::vector<int>& ranks);
// "waits" for one, "wait" for several
std::string verb(const std::vector<int>& ranks, const std::string& plural);
// "1 rank", "3 ranks"
std::string count_text(std::size_t count, const std::string& noun);

}  // namespace comm_probe::diagnose
