#include "torch/readers/rank_lists.h"

#include <charconv>

#include "torch/readers/hash.h"

namespace comm_probe::torch {
namespace {

std::vector<int> ranks_in(std::string_view text) {
  std::vector<int> ranks;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end && ranks.size() < RankLists::kMostRanks) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    int rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error == std::errc() && rank < (1 << 30)) ranks.push_back(rank);
    at = next;
  }
  return ranks;
}

}  // namespace

RankList RankLists::of_text(std::string_view text) {
  const std::uint64_t key = hash_text(text);
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_text_.find(key);
    if (found != by_text_.end()) return found->second;
  }
  RankList list = of(ranks_in(text));
  const std::lock_guard lock(mutex_);
  by_text_.emplace(key, list);
  return list;
}

RankList RankLists::of(std::vector<int> ranks) {
  std::uint64_t key = ranks.size();
  for (const int rank : ranks) key = combine(key, static_cast<std::uint64_t>(rank));
  const std::lock_guard lock(mutex_);
  RankList& list = by_content_[key];
  if (!list) list = std::make_shared<const std::vector<int>>(std::move(ranks));
  return list;
}

}  // namespace comm_probe::torch
