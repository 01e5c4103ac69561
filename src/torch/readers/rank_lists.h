// The lists of ranks that pg_config repeats in every dump of a job ("[0, 1, ..., 16383]" in 16384
// files): each distinct one is parsed and kept once. May be used by several threads.
#pragma once

#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torch/dump.h"

namespace comm_probe::torch {

class RankLists {
 public:
  static constexpr std::size_t kMostRanks = 1 << 20;

  RankList of_text(std::string_view text);
  RankList of(std::vector<int> ranks);

 private:
  std::mutex mutex_ = {};
  std::unordered_map<std::uint64_t, RankList> by_text_ = {};
  std::unordered_map<std::uint64_t, RankList> by_content_ = {};
};

}  // namespace comm_probe::torch
