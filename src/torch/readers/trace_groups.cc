#include "torch/readers/trace_groups.h"

#include <algorithm>

#include "torch/readers/hash.h"

namespace comm_probe::torch {
namespace {

// More members than any job has: what a damaged file may not make us build.
constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kLargestRank = 1 << 30;

bool may_be_rank(std::int64_t number) { return number >= 0 && number < kLargestRank; }

std::vector<int> ranks_of(std::int64_t start, std::int64_t stride, std::int64_t size) {
  std::vector<int> ranks;
  if (size <= 0 || size > kMostRanks || !may_be_rank(start) || stride <= 0 ||
      stride > kLargestRank / size || !may_be_rank(start + stride * (size - 1)))
    return ranks;
  ranks.reserve(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<int>(start + i * stride));
  return ranks;
}

std::vector<int> as_ranks(const std::vector<std::int64_t>& numbers) {
  std::vector<int> ranks;
  for (const std::int64_t number : numbers) {
    if (!may_be_rank(number)) return {};
    ranks.push_back(static_cast<int>(number));
  }
  return ranks;
}

TraceGroup group_of(const GroupWords& words) {
  TraceGroup group{std::string(words.name), std::string(words.description)};
  group.size = words.size;
  const auto list = parse_number_list(words.ranks);
  if (list && !list->is_shortened) {
    group.ranks = as_ranks(list->numbers);
  } else if (words.start >= 0 && words.stride > 0) {
    group.ranks = ranks_of(words.start, words.stride, words.size);
  } else if (list && list->numbers.size() >= 2) {
    group.ranks = ranks_of(list->numbers[0], list->numbers[1] - list->numbers[0], words.size);
    group.ranks_assumed = !group.ranks.empty();
  }
  if (group.size == 0) group.size = static_cast<std::int64_t>(group.ranks.size());
  return group;
}

void complete(TraceGroup& group, const TraceGroup& configured) {
  if (group.description.empty()) group.description = configured.description;
  if (group.backend.empty()) group.backend = configured.backend;
  if ((group.ranks.empty() || group.ranks_assumed) && !configured.ranks.empty()) {
    group.ranks = configured.ranks;
    group.ranks_assumed = configured.ranks_assumed;
  }
  if (group.size == 0) group.size = configured.size;
}

}  // namespace

std::uint32_t TraceGroups::number(const GroupWords& words) {
  if (words.name.empty() && words.ranks.empty()) return kNone;
  std::uint64_t key = combine(hash_text(words.name), hash_text(words.description));
  key = combine(combine(key, hash_text(words.ranks)), static_cast<std::uint64_t>(words.size));
  if (key == last_key_ && last_ != kNone) return last_;
  const auto [place, is_new] = known_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back(group_of(words));
  last_key_ = key;
  return last_ = place->second;
}

std::vector<TraceGroup> TraceGroups::finish(std::vector<TraceGroup> configured) {
  std::vector<TraceGroup> groups = std::move(groups_);
  const std::size_t named = groups.size();
  for (TraceGroup& one : configured) {
    bool is_known = false;
    for (std::size_t i = 0; i < named; ++i) {
      if (groups[i].name != one.name) continue;
      complete(groups[i], one);
      is_known = true;
    }
    if (!is_known) groups.push_back(std::move(one));
  }
  return groups;
}

}  // namespace comm_probe::torch
