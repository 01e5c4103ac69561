#include "torch/expert_group.h"

#include <algorithm>
#include <cctype>

namespace comm_probe::torch {
namespace {

// With one of these the group has ranks of another kind of parallelism.
constexpr std::string_view kOthers[] = {"dp",      "tp",       "pp",       "cp",    "sp",
                                        "data",    "tensor",   "pipeline", "intra", "inter",
                                        "context", "sequence", "embedding"};

bool is_of_experts(std::string_view description) {
  bool says_expert = false;
  for (const std::string& word : description_words(description)) {
    if (std::find(std::begin(kOthers), std::end(kOthers), word) != std::end(kOthers)) return false;
    says_expert = says_expert || word == "ep" || word == "expert";
  }
  return says_expert;
}

// Experts that are split by tensor parallelism too, and exchange over both.
bool is_of_split_experts(std::string_view description) {
  const auto words = description_words(description);
  const auto has = [&words](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return has("expert") && has("tensor") && has("model") && !has("pipeline");
}

std::int64_t size_of(const TraceGroup& group) {
  return group.ranks.empty() ? group.size : static_cast<std::int64_t>(group.ranks.size());
}

bool has_rank(const TraceGroup& group, std::optional<int> rank) {
  return group.ranks.empty() || !rank ||
         std::find(group.ranks.begin(), group.ranks.end(), *rank) != group.ranks.end();
}

}  // namespace

std::vector<std::string> description_words(std::string_view description) {
  std::vector<std::string> words(1);
  for (const char letter : description) {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0)
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::int64_t ExpertGroup::size() const { return group == nullptr ? 0 : size_of(*group); }

ExpertGroup expert_group_of(const Trace& trace) {
  ExpertGroup found;
  for (const TraceGroup& group : trace.groups) {
    const bool is_one = is_of_experts(group.description);
    if (!is_one && !is_of_split_experts(group.description)) continue;
    if (size_of(group) < 1 || !has_rank(group, trace.rank)) continue;
    if (found.group != nullptr && size_of(*found.group) != size_of(group)) return {nullptr, true};
    if (found.group == nullptr || (found.group->ranks.empty() && is_one)) found.group = &group;
  }
  return found;
}

}  // namespace comm_probe::torch
