#include "diagnose/log_problem_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {

using nccl::DebugLog;
using nccl::LogProblem;

std::string field(const LogProblem& problem, const char* name) {
  const auto found = problem.fields.find(name);
  return found == problem.fields.end() ? "" : found->second;
}

std::string tally(const LogProblem& problem, const std::string& kind, const char* plural) {
  std::string most;
  std::uint64_t count = 0, least = problem.count;
  std::size_t different = 0;
  for (const auto& [name, times] : problem.named) {
    if (!name.starts_with(kind + " ")) continue;
    ++different;
    least = std::min(least, times);
    if (times > count) {
      count = times;
      most = name.substr(kind.size() + 1);
    }
  }
  if (different == 0) return "";
  if (different == 1)
    return problem.count == 1 ? fmt::format("{} {}", kind, most)
                              : fmt::format("{} {} in all {} lines", kind, most, count);
  if (least == count)  // none stands out
    return fmt::format("{} {}, each in {} line{}", different, plural, count, count == 1 ? "" : "s");
  return fmt::format("{} {}, most often {} ({} of {} lines)", different, plural, most, count,
                     problem.count);
}

std::string joined(std::vector<std::string> parts, const char* between) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, between));
}

std::string whereabouts(const DebugLog& log, const LogProblem& problem) {
  std::vector<int> hosts;
  for (const int process : problem.processes) {
    const int host = log.processes[static_cast<std::size_t>(process)].host;
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  std::erase_if(hosts, [&](int host) { return log.hosts[static_cast<std::size_t>(host)].empty(); });
  if (hosts.empty()) return "";
  const std::string names = hosts_text(log, hosts);
  if (problem.process_count <= 1) return " on " + names;
  return fmt::format(" on {} processes of {}", problem.process_count, names);
}

}  // namespace comm_probe::diagnose
