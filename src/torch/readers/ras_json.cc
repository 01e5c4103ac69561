#include "torch/readers/ras_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace comm_probe::torch {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestReport = std::uint64_t{256} << 20;

JobLine line_of(JobEvent event, const std::string& file, std::string text) {
  JobLine line;
  line.event = event;
  line.file = file;
  line.text = std::move(text);
  return line;
}

int rank_of(const json& member) {
  const auto rank = member.find("rank");
  return rank != member.end() && rank->is_number_integer() ? rank->get<int>() : -1;
}

std::int64_t launched(const json& member) {
  const auto counts = member.find("collective_counts");
  if (counts == member.end() || !counts->is_object()) return -1;
  return std::accumulate(counts->begin(), counts->end(), std::int64_t{0},
                         [](std::int64_t sum, const json& count) {
                           return sum + (count.is_number_integer() ? count.get<std::int64_t>() : 0);
                         });
}

std::string name_of(const json& communicator) {
  const auto hash = communicator.find("hash");
  return hash != communicator.end() && hash->is_string() ? hash->get<std::string>() : "?";
}

void add_dead(const json& communicator, const std::string& file, JobLines& lines) {
  const auto missing = communicator.find("missing_ranks");
  if (missing == communicator.end() || !missing->is_array()) return;
  for (const json& member : *missing) {
    const int rank = rank_of(member);
    if (rank < 0) continue;
    JobLine line = line_of(
        JobEvent::kRasDead, file,
        fmt::format("rank {} of communicator {} does not answer", rank, name_of(communicator)));
    line.rank = rank;
    lines.lines.push_back(std::move(line));
  }
}

void add_behind(const json& communicator, const std::string& file, JobLines& lines) {
  const auto ranks = communicator.find("ranks");
  if (ranks == communicator.end() || !ranks->is_array()) return;
  std::int64_t most = -1;
  for (const json& member : *ranks) most = std::max(most, launched(member));
  JobLine line = line_of(JobEvent::kRasMismatch, file, "");
  for (const json& member : *ranks)
    if (launched(member) >= 0 && launched(member) < most) line.ranks.push_back(rank_of(member));
  if (line.ranks.empty() || 2 * line.ranks.size() >= ranks->size()) return;
  line.enqueued = most;
  line.text = fmt::format("{} of {} ranks of communicator {} have launched less than {} operations",
                          line.ranks.size(), ranks->size(), name_of(communicator), most);
  lines.lines.push_back(std::move(line));
}

}  // namespace

bool looks_like_ras(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return false;
  return head.find("\"communicators") != std::string_view::npos;  // or "communicators_count"
}

bool read_ras(core::Input& input, JobLines& lines) {
  const auto text = input.read_all(kLargestReport);
  if (!text) return false;
  const json document = json::parse(*text, nullptr, false);
  if (!document.is_object()) return false;
  const auto communicators = document.find("communicators");
  if (communicators == document.end() || !communicators->is_array()) return false;
  for (const json& communicator : *communicators) {
    if (!communicator.is_object()) continue;
    add_dead(communicator, input.name(), lines);
    add_behind(communicator, input.name(), lines);
  }
  return true;
}

}  // namespace comm_probe::torch
