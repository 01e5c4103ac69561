#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/log_view.h"

namespace comm_probe::cli {
namespace {

using core::Block;
using core::Column;
using nccl::DebugLog;
using nccl::index_of;
using nccl::LogComm;

constexpr std::size_t kMostRows = 24;   // of a table
constexpr std::size_t kMostRanks = 32;  // of a ring

core::Table graph_table(const LogComm& comm) {
  static constexpr const char* kNames[] = {"",     "balanced tree", "split tree", "tree",
                                           "ring", "NVLS",          "CollNet"};
  core::Table table = {{{"search", Column::Align::kLeft},
                        {"channels"},
                        {"GB/s inside"},
                        {"path", Column::Align::kLeft},
                        {"GB/s to NIC"},
                        {"path", Column::Align::kLeft},
                        {"ranks"}},
                       {}};
  for (const nccl::LogGraph& graph : comm.graphs)
    table.rows.push_back({graph.pattern > 0 && graph.pattern < 7 ? kNames[graph.pattern] : "?",
                          std::to_string(graph.channels), fmt::format("{:g}", graph.bw_intra),
                          graph.type_intra, fmt::format("{:g}", graph.bw_inter), graph.type_inter,
                          std::to_string(graph.count)});
  return table;
}

// Of all communicators, by call and size.
std::vector<nccl::LogChoice> all_choices(const DebugLog& log) {
  using Key = std::tuple<std::string, std::uint64_t, int, int, int, std::string>;
  std::map<Key, nccl::LogChoice> all;
  for (const LogComm& comm : log.comms)
    for (const nccl::LogChoice& choice : comm.choices) {
      const Key key = {choice.function,
                       choice.bytes,
                       choice.algorithm ? static_cast<int>(*choice.algorithm) : -1,
                       choice.protocol ? static_cast<int>(*choice.protocol) : -1,
                       choice.channels.value_or(-1),
                       choice.kernel};
      const auto [found, is_new] = all.emplace(key, choice);
      if (!is_new) found->second.count += choice.count;
    }
  std::vector<nccl::LogChoice> choices;
  for (auto& [key, choice] : all) choices.push_back(std::move(choice));
  return choices;
}

core::Table choice_table(const std::vector<nccl::LogChoice>& choices) {
  core::Table table = {{{"call", Column::Align::kLeft},
                        {"bytes"},
                        {"algorithm", Column::Align::kLeft},
                        {"protocol", Column::Align::kLeft},
                        {"channels"},
                        {"times"}},
                       {}};
  for (const nccl::LogChoice& choice : choices) {
    if (table.rows.size() >= kMostRows) break;
    table.rows.push_back(
        {choice.function.empty() ? "-" : choice.function, std::to_string(choice.bytes),
         choice.algorithm        ? table_name(*choice.algorithm)
         : choice.kernel.empty() ? "?"
                                 : choice.kernel,
         choice.protocol         ? table_name(*choice.protocol)
         : choice.kernel.empty() ? "?"
                                 : "symmetric",
         choice.channels ? std::to_string(*choice.channels) : "-", std::to_string(choice.count)});
  }
  return table;
}

core::Table problem_table(const DebugLog& log) {
  core::Table table = {{{"lines"},
                        {"processes"},
                        {"role", Column::Align::kLeft},
                        {"first line", Column::Align::kLeft, 10}},
                       {}};
  for (const nccl::LogProblem& problem : log.problems) {
    if (table.rows.size() >= kMostRows) break;
    const char* role = problem.role == nccl::LogRole::kCause      ? "cause"
                       : problem.role == nccl::LogRole::kFollowUp ? "follow-up"
                                                                  : "harmless";
    table.rows.push_back({std::to_string(problem.count), std::to_string(problem.process_count),
                          role, problem.first.text});
  }
  return table;
}

core::Table ring_table(const LogComm& comm) {
  core::Table table = {{{"channel"},
                        {"ranks"},
                        {"in order", Column::Align::kLeft},
                        {"tree of its first rank", Column::Align::kLeft, 5}},
                       {}};
  for (const auto& [channel, ring] : comm.rings) {
    if (table.rows.size() >= kMostRows) break;
    const std::size_t shown = std::min(ring.size(), kMostRanks);
    std::string order = fmt::format(
        "{}{}", fmt::join(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(shown), " "),
        ring.size() > shown ? " ..." : "");
    const auto tree = ring.empty() ? comm.trees.end() : comm.trees.find({channel, ring.front()});
    table.rows.push_back(
        {std::to_string(channel), std::to_string(ring.size()), std::move(order),
         tree == comm.trees.end()
             ? "-"
             : fmt::format("up {}, down {}", tree->second.up, fmt::join(tree->second.down, "/"))});
  }
  return table;
}

// Latency in us and bandwidth in GB/s of what may be taken.
core::Table tuning_table(const LogComm& comm) {
  core::Table table = {{{"function", Column::Align::kLeft},
                        {"algorithm", Column::Align::kLeft},
                        {"LL"},
                        {"LL128"},
                        {"Simple"}},
                       {}};
  for (const nccl::Function function : nccl::kAllFunctions)
    for (const nccl::Algorithm algorithm : nccl::kAllAlgorithms) {
      std::vector<std::string> row = {function_name(function), table_name(algorithm)};
      bool is_taken = false;
      for (const nccl::Protocol protocol : nccl::kAllProtocols) {
        const auto& cost =
            comm.tuning.costs[index_of(function)][index_of(algorithm)][index_of(protocol)];
        const bool is_offered = cost && cost->bandwidth_GBps > 0;
        is_taken = is_taken || is_offered;
        row.push_back(is_offered
                          ? fmt::format("{:.1f}/{:.1f}", cost->latency_us, cost->bandwidth_GBps)
                          : "-");
      }
      if (is_taken) table.rows.push_back(std::move(row));
    }
  return table;
}

}  // namespace

std::vector<Block> log_details(const DebugLog& log) {
  std::vector<Block> blocks;
  const auto most =
      std::max_element(log.comms.begin(), log.comms.end(), [](const LogComm& a, const LogComm& b) {
        return std::pair(a.choices.size() + a.graphs.size(), a.size) <
               std::pair(b.choices.size() + b.graphs.size(), b.size);
      });
  if (most != log.comms.end() && !most->graphs.empty()) {
    blocks.push_back(core::Heading{"Searches (per channel)"});
    blocks.push_back(graph_table(*most));
  }
  if (most != log.comms.end() && !most->rings.empty()) {
    blocks.push_back(core::Heading{"Rings and trees"});
    blocks.push_back(ring_table(*most));
  }
  if (most != log.comms.end() && most->tuning.cells > 0) {
    blocks.push_back(core::Heading{"Tuning table (latency in us / bandwidth in GB/s)"});
    blocks.push_back(tuning_table(*most));
  }
  if (const auto choices = all_choices(log); !choices.empty()) {
    blocks.push_back(core::Heading{"Choices"});
    blocks.push_back(choice_table(choices));
    if (choices.size() > kMostRows)
      blocks.push_back(
          core::Paragraph{fmt::format("and {} more; --json has all", choices.size() - kMostRows)});
  }
  if (!log.problems.empty()) {
    blocks.push_back(core::Heading{"Warnings and notices"});
    blocks.push_back(problem_table(log));
  }
  return blocks;
}

}  // namespace comm_probe::cli
