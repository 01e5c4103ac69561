#include "diagnose/log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "diagnose/bonds.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {

using nccl::DebugLog;
using nccl::LogRole;

core::Evidence log_evidence(const DebugLog& log, const nccl::LogPlace& place) {
  core::Evidence evidence;
  if (place.file >= 0 && static_cast<std::size_t>(place.file) < log.files.size())
    evidence.source = log.files[static_cast<std::size_t>(place.file)];
  if (place.line > 0) evidence.line = place.line;
  evidence.text = place.text;
  return evidence;
}

core::Finding log_finding(const DebugLog& log, const char* id, std::string summary,
                          const nccl::LogPlace& place) {
  core::Finding finding = core::make_finding(id, std::move(summary));
  if (place.file >= 0) finding.evidence.push_back(log_evidence(log, place));
  return finding;
}

core::Finding log_possible(const DebugLog& log, const char* id, std::string summary) {
  core::Finding finding = log_finding(log, id, std::move(summary), {});
  finding.confidence = core::Confidence::kPossible;
  return finding;
}

std::string hosts_text(const DebugLog& log, const std::vector<int>& hosts) {
  std::vector<std::string> names;
  for (const int host : hosts)
    if (const std::string& name = log.hosts[static_cast<std::size_t>(host)]; !name.empty())
      names.push_back(name);
  if (names.empty()) return "an unnamed host";
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return names[0] + " and " + names[1];
  return fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
}

std::vector<int> ranks_of(const DebugLog& log, const std::vector<int>& processes) {
  const std::set<int> wanted(processes.begin(), processes.end());
  std::set<int> ranks;
  for (const nccl::LogRank& rank : log.ranks)
    if (ranks.size() < 64 && wanted.count(rank.process) > 0 &&
        log.comms[static_cast<std::size_t>(rank.comm)].size > 1)
      ranks.insert(rank.rank);
  if (ranks.empty())
    for (const int process : processes)
      if (const auto& rank = log.processes[static_cast<std::size_t>(process)].launcher_rank;
          rank && ranks.size() < 64)
        ranks.insert(*rank);
  return {ranks.begin(), ranks.end()};
}

namespace {

// Hosts of which no communicator is known are of the job of the text that holds their lines: one
// output of a job holds them all. Where it holds two jobs, nothing says of which they are.
void join_by_text(const DebugLog& log, Bonds& bonds, std::vector<bool>& is_joined) {
  std::map<int, std::set<int>> hosts_of_file;
  for (const nccl::LogProcess& process : log.processes)
    hosts_of_file[process.file].insert(process.host);
  const std::vector<bool> was_joined = is_joined;
  for (const auto& [file, hosts] : hosts_of_file) {
    std::set<int> roots;
    for (const int host : hosts)
      if (was_joined[static_cast<std::size_t>(host)]) roots.insert(bonds.root(host));
    if (roots.size() > 1 || hosts.size() < 2) continue;
    for (const int host : hosts) {
      bonds.bind(host, roots.empty() ? *hosts.begin() : *roots.begin());
      is_joined[static_cast<std::size_t>(host)] = true;
    }
  }
}

}  // namespace

std::vector<int> host_sets(const DebugLog& log, const HostGroups& known) {
  const auto host_of = [&](int process) {
    return log.processes[static_cast<std::size_t>(process)].host;
  };
  Bonds bonds(log.hosts.size());
  std::vector<bool> is_joined(log.hosts.size());
  for (const nccl::LogComm& comm : log.comms)
    for (const int process : comm.processes) {
      if (comm.size < 2 || comm.ranks_seen == 0) continue;  // an excerpt names nobody
      bonds.bind(host_of(process), host_of(comm.processes.front()));
      is_joined[static_cast<std::size_t>(host_of(process))] = true;
    }
  std::map<int, int> first_of_group;
  for (std::size_t host = 0; host < log.hosts.size(); ++host) {
    const auto group = known.find(log.hosts[host]);
    if (group == known.end()) continue;
    is_joined[host] = true;
    const int number = static_cast<int>(host);
    bonds.bind(number, first_of_group.try_emplace(group->second, number).first->second);
  }
  join_by_text(log, bonds, is_joined);
  std::vector<int> sets(log.hosts.size(), -1);
  for (std::size_t host = 0; host < log.hosts.size(); ++host)
    if (is_joined[host]) sets[host] = bonds.root(static_cast<int>(host));
  return sets;
}

bool is_multi_node(const DebugLog& log) {
  return std::any_of(log.comms.begin(), log.comms.end(), [&](const nccl::LogComm& comm) {
    std::set<int> hosts;
    for (const int process : comm.processes)
      if (hosts.size() < 2) hosts.insert(log.processes[static_cast<std::size_t>(process)].host);
    return comm.nodes > 1 || (comm.size > 1 && hosts.size() > 1) ||
           std::any_of(comm.edges.begin(), comm.edges.end(),
                       [](const nccl::LogEdges& edges) { return edges.is_net; });
  });
}

bool has_failed(const DebugLog& log) {
  return std::any_of(log.problems.begin(), log.problems.end(), [](const nccl::LogProblem& problem) {
    return problem.role != LogRole::kHarmless;
  });
}

bool uses_rdma(const DebugLog& log) {
  const bool is_seen = !log.networks.empty() || !log.nic_lists.empty();
  const bool is_local = std::any_of(
      log.problems.begin(), log.problems.end(),
      [](const nccl::LogProblem& problem) { return problem.named.count("peer localhost") > 0; });
  return !log.hca_gdr.empty() || !log.pair_gdr.empty() || (!is_seen && !is_local) ||
         std::any_of(log.networks.begin(), log.networks.end(),
                     [](const nccl::LogFact& fact) { return fact.text != "Socket"; }) ||
         std::any_of(log.comms.begin(), log.comms.end(), [](const nccl::LogComm& comm) {
           return std::any_of(comm.edges.begin(), comm.edges.end(), [](const auto& edges) {
             return edges.gdr || edges.via.find("IB") != std::string::npos;
           });
         });
}

std::vector<int> silent_ranks(const DebugLog& log) {
  std::vector<std::vector<int>> silent_of(log.comms.size());
  for (const nccl::LogRank& rank : log.ranks) {
    const nccl::LogProcess& process = log.processes[static_cast<std::size_t>(rank.process)];
    if (process.warnings == 0 && process.code == 0)
      silent_of[static_cast<std::size_t>(rank.comm)].push_back(rank.rank);
  }
  for (std::size_t i = 0; i < log.comms.size(); ++i) {
    const nccl::LogComm& comm = log.comms[i];
    if (comm.size < 3 || comm.ranks_seen < comm.size) continue;
    std::vector<int>& silent = silent_of[i];
    if (!silent.empty() && silent.size() <= 8 && 2 * static_cast<int>(silent.size()) < comm.size)
      return std::move(silent);
  }
  return {};
}

Judgement judge_log(const DebugLog& log, const torch::JobLines& job, const HostGroups& known) {
  Judgement judgement = judge_log_problems(log);
  add_log_job(log, job, judgement);
  judgement.add(judge_log_network(log, known));
  judgement.add(judge_log_ranks(log));
  Judgement across = judge_log_across(log);
  std::erase_if(across.findings, [&](const auto& found) { return judgement.has(found.id); });
  judgement.add(std::move(across));
  add_log_next(judgement);
  return judgement;
}

namespace {

// Remarks are no faults, but they may be what the reader looks for.
std::string remarks_of(const Judgement& judgement) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string_view> ids;
  for (const core::Finding& finding : judgement.findings)
    if (std::find(ids.begin(), ids.end(), finding.id) == ids.end()) ids.push_back(finding.id);
  if (ids.empty()) return "";
  const std::size_t shown = std::min(ids.size(), kMostNamed);
  return fmt::format("; to look at: {}{}", fmt::join(ids.begin(), ids.begin() + shown, ", "),
                     ids.size() > shown ? fmt::format(" and {} more", ids.size() - shown) : "");
}

}  // namespace

std::string log_verdict(const DebugLog& log, const Judgement& judgement) {
  const auto worst = std::min_element(
      judgement.findings.begin(), judgement.findings.end(),
      [](const core::Finding& a, const core::Finding& b) { return a.severity < b.severity; });
  if (worst == judgement.findings.end() || worst->severity == core::Severity::kInfo)
    return (log.nccl_lines == 0
                ? std::string("nothing wrong found; no line of NCCL")
                : fmt::format("nothing wrong found in {} lines of NCCL", log.nccl_lines)) +
           remarks_of(judgement);
  std::string meaning(core::find_finding(worst->id)->meaning);
  if (meaning.ends_with('.')) meaning.pop_back();
  // the word of a sentence, not a name: "PyTorch's", "NCCL"
  const std::string word = meaning.substr(0, meaning.find(' '));
  const bool is_name = std::any_of(word.begin() + (word.empty() ? 0 : 1), word.end(), [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) != 0;
  });
  if (!is_name && meaning.size() > 1)
    meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
  const bool is_cause = worst->severity == core::Severity::kError &&
                        worst->id != "log.only-follow-ups" && worst->id != "log.torch-watchdog";
  return (is_cause ? "first cause: " : "") + meaning;
}

}  // namespace comm_probe::diagnose
