#include "cli/plan_graphs_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Table;
using nccl::Graph;
using nccl::Graphs;
using nccl::JobPlan;
using nccl::Pattern;
using topology::PathType;

constexpr std::size_t kMostRanksShown = 16;  // longer orders show runs
constexpr int kMostRanksExplained = 64;
constexpr std::size_t kOrdersShown = 4;  // of a search, without --explain

std::string rate_text(topology::NcclRate rate) { return core::format_number(rate.GBps); }

// The graphs of a domain with the names that people know.
std::vector<std::pair<std::string, const Graph*>> named(const Graphs& graphs) {
  std::vector<std::pair<std::string, const Graph*>> all = {{"ring", &graphs.ring},
                                                           {"tree", &graphs.tree}};
  if (graphs.collnet_chain) all.emplace_back("CollNet chain", &*graphs.collnet_chain);
  if (graphs.collnet_direct) all.emplace_back("CollNet direct", &*graphs.collnet_direct);
  if (graphs.nvls) all.emplace_back("NVLS", &*graphs.nvls);
  return all;
}

std::vector<std::pair<std::string, const Graph*>> named(const JobPlan& plan) {
  const std::vector<Graphs>& domains = plan.connection.domains();
  std::vector<std::pair<std::string, const Graph*>> all;
  for (std::size_t domain = 0; domain < domains.size(); ++domain)
    for (auto& [name, graph] : named(domains[domain]))
      all.emplace_back(domains.size() == 1 ? name : fmt::format("{}, domain {}", name, domain),
                       graph);
  return all;
}

Table search_table(const JobPlan& plan) {
  const bool is_inter = plan.job.reach.is_inter();
  Table table{.columns = {{"search", Column::Align::kLeft},
                          {"channels"},
                          {"GB/s inside"},
                          {"path", Column::Align::kLeft}},
              .rows = {}};
  if (is_inter) {
    table.columns.push_back({"GB/s to NIC"});
    table.columns.push_back({"path", Column::Align::kLeft});
  }
  for (const auto& [name, graph] : named(plan)) {
    const nccl::GraphTraits& traits = graph->traits;
    if (traits.n_channels == 0) continue;
    std::vector<std::string> row = {name, fmt::to_string(traits.n_channels),
                                    rate_text(traits.bw_intra), path_type_name(traits.type_intra)};
    if (is_inter) {
      row.push_back(rate_text(traits.bw_inter));
      row.emplace_back(path_type_name(traits.type_inter));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "0-3 8"
std::string numbers_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : " ", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

// Long orders with runs: "0 71..1".
std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() <= kMostRanksShown) return fmt::format("{}", fmt::join(ranks, " "));
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    const int step = i + 1 < ranks.size() ? ranks[i + 1] - ranks[i] : 0;
    if (step == 1 || step == -1)
      while (last + 1 < ranks.size() && ranks[last + 1] - ranks[last] == step) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : " ", ranks[i]);
    if (last > i) text += fmt::format("..{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string net_text(const JobPlan& plan, int net) {
  if (net < 0) return "-";
  const nccl::Reach& reach = plan.job.reach;
  return reach.machine.device_name(reach.net_node(net));
}

bool is_same(const nccl::GraphChannel& a, const nccl::GraphChannel& b) {
  return a.net_in == b.net_in && a.net_out == b.net_out && a.ranks == b.ranks;
}

// The channels of each order: {0, 8}, {1, 9} ...
std::vector<std::vector<int>> alike_channels(const Graph& graph) {
  const auto& channels = graph.channels;
  std::vector<std::vector<int>> groups;
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return is_same(channels[static_cast<std::size_t>(group.front())], channels[channel]);
    });
    if (found != groups.end())
      found->push_back(static_cast<int>(channel));
    else
      groups.push_back({static_cast<int>(channel)});
  }
  return groups;
}

void add_orders(Table& table, const JobPlan& plan,
                const std::pair<std::string, const Graph*>& named, bool is_every_order) {
  const Graph& graph = *named.second;
  const auto groups = alike_channels(graph);
  // one left out would take the line that says so
  const bool is_cut = !is_every_order && groups.size() > kOrdersShown + 1;
  const bool is_inter = plan.job.reach.is_inter();
  for (std::size_t i = 0; i < (is_cut ? kOrdersShown : groups.size()); ++i) {
    const auto& channel = graph.channels[static_cast<std::size_t>(groups[i].front())];
    std::vector<std::string> row = {i == 0 ? named.first : "", numbers_text(groups[i])};
    if (is_inter) row.push_back(net_text(plan, channel.net_in));
    row.push_back(ranks_text(channel.ranks));
    if (is_inter) row.push_back(net_text(plan, channel.net_out));
    table.rows.push_back(std::move(row));
  }
  if (!is_cut) return;
  std::vector<std::string> more = {"", "..."};
  if (is_inter) more.emplace_back("");
  more.push_back(fmt::format("{} more orders: --explain", groups.size() - kOrdersShown));
  if (is_inter) more.emplace_back("");
  table.rows.push_back(std::move(more));
}

Table order_table(const JobPlan& plan, bool is_every_order) {
  Table table{.columns = {{"search", Column::Align::kLeft}, {"channels", Column::Align::kLeft}},
              .rows = {}};
  if (plan.job.reach.is_inter()) table.columns.push_back({"NIC in", Column::Align::kLeft});
  table.columns.push_back({"ranks in order", Column::Align::kLeft});
  if (plan.job.reach.is_inter()) table.columns.push_back({"NIC out", Column::Align::kLeft});
  for (const auto& one : named(plan))
    if (one.second->traits.pattern != Pattern::kNvls) add_orders(table, plan, one, is_every_order);
  return table;
}

std::string collective_text(const JobPlan& plan) {
  const nccl::ChannelCounts& counts = plan.counts;
  std::string text = fmt::format("{} channels: {} found", counts.coll, counts.search);
  if (counts.coll == 2 * counts.search)
    text += ", each used twice (once for each of the two trees)";
  else if (counts.coll > counts.search)
    text += ", repeated";
  else
    text += ", cut by a setting";
  return text;
}

core::KeyValues count_rows(const JobPlan& plan) {
  const nccl::ChannelCounts& counts = plan.counts;
  core::KeyValues values{{{"ring, tree", collective_text(plan)}}};
  if (counts.nvls > 0)
    values.rows.emplace_back("NVLS", fmt::format("{} channels, heads {}", counts.nvls,
                                                 ranks_text(plan.connection.nvls_heads())));
  values.rows.emplace_back(
      "send/recv", fmt::format("{} channels, {} for each peer", counts.p2p, counts.p2p_per_peer));
  if (plan.connection.nodes() > 1)
    values.rows.emplace_back("tree depth", fmt::to_string(plan.connection.tree_depth()));
  return values;
}

std::vector<std::string> relaxations(const Graph& graph) {
  const nccl::GraphTraits& traits = graph.traits;
  const nccl::SearchEffort& effort = graph.effort;
  std::vector<std::string> what;
  if (effort.found_speed < effort.first_speed)
    what.push_back(fmt::format("{} instead of {} GB/s", rate_text(effort.found_speed),
                               rate_text(effort.first_speed)));
  if (!traits.same_channels && traits.pattern != Pattern::kNvls)
    what.emplace_back("orders that differ by channel");
  if (graph.id == 1 && traits.pattern == Pattern::kTree && graph.channels.front().ranks.size() > 1)
    what.emplace_back("one GPU per NIC instead of two");
  if (traits.type_intra > effort.nearest_intra)
    what.push_back(fmt::format("{} instead of {} inside", path_type_name(traits.type_intra),
                               path_type_name(effort.nearest_intra)));
  if (traits.type_inter > effort.nearest_inter && graph.channels.front().net_in >= 0)
    what.push_back(fmt::format("{} instead of {} to the NIC", path_type_name(traits.type_inter),
                               path_type_name(effort.nearest_inter)));
  if (traits.cross_nic == 2) what.emplace_back("another NIC out than in");
  return what;
}

}  // namespace

std::string search_story(const Graph& graph) {
  const nccl::GraphTraits& traits = graph.traits;
  const nccl::SearchEffort& effort = graph.effort;
  if (effort.is_fallback)
    return fmt::format("no channel could be placed in {} tries: one slow one in index order",
                       effort.searches);
  std::string text = fmt::format("{} {}", effort.searches, effort.searches == 1 ? "try" : "tries");
  const std::vector<std::string> given_up = relaxations(graph);
  if (!given_up.empty()) text += fmt::format("; settled for {}", fmt::join(given_up, ", "));
  if (effort.found_channels < traits.n_channels)
    text += fmt::format("; {} channel{} of {} GB/s, split", effort.found_channels,
                        effort.found_channels == 1 ? "" : "s", rate_text(effort.found_speed));
  if (effort.searches_cut > 0)
    text += fmt::format("; step budget spent in {} of them", effort.searches_cut);
  if (effort.total_budget_cut) text += "; total budget spent";
  return text;
}

void add_graph_blocks(core::Document& document, const JobPlan& plan, bool is_every_order) {
  document.body.emplace_back(core::Heading{"Searches (per channel)"});
  document.body.emplace_back(search_table(plan));
  core::KeyValues stories;
  for (const auto& [name, graph] : named(plan))
    if (graph->traits.n_channels > 0) stories.rows.emplace_back(name, search_story(*graph));
  document.body.emplace_back(std::move(stories));
  document.body.emplace_back(core::Heading{"Channels of a node"});
  document.body.emplace_back(order_table(plan, is_every_order));
  document.body.emplace_back(core::Heading{"Channels in use"});
  document.body.emplace_back(count_rows(plan));
}

namespace {

// Edges of a channel that are carried alike stand together.
Table edge_table(const JobPlan& plan) {
  Table table{.columns = {{"channel"},
                          {"via", Column::Align::kLeft},
                          {"edges of node 0", Column::Align::kLeft}},
              .rows = {}};
  int channel = -1;
  for (const nccl::RingEdge& edge : ring_edges(plan)) {
    const std::string text = fmt::format("{}->{}", edge.from, edge.to);
    const bool is_next = edge.channel != channel;
    if (!is_next && table.rows.back()[1] == edge.via) {
      table.rows.back()[2] += " " + text;
      continue;
    }
    channel = edge.channel;
    table.rows.push_back({is_next ? fmt::to_string(channel) : "", edge.via, text});
  }
  return table;
}

Table ring_table(const JobPlan& plan) {
  Table rings{.columns = {{"ring"}, {"ranks", Column::Align::kLeft}}, .rows = {}};
  for (int channel = 0; channel < plan.connection.search_channels(); ++channel)
    rings.rows.push_back({fmt::to_string(channel),
                          fmt::format("{}", fmt::join(plan.connection.ring(channel), " "))});
  return rings;
}

std::string tree_text(const std::vector<nccl::TreeLinks>& tree) {
  std::string text;
  for (std::size_t rank = 0; rank < tree.size(); ++rank) {
    text += fmt::format("{}{}", rank == 0 ? "" : " ", rank);
    if (tree[rank].up >= 0) text += fmt::format(">{}", tree[rank].up);
  }
  return text;
}

Table tree_table(const JobPlan& plan) {
  Table trees{.columns = {{"tree"}, {"rank>parent", Column::Align::kLeft}}, .rows = {}};
  std::vector<nccl::ChannelSource> seen;
  for (std::size_t channel = 0; channel < plan.channels.size(); ++channel) {
    const nccl::ChannelSource& source = plan.channels[channel];
    if (std::find(seen.begin(), seen.end(), source) != seen.end()) continue;
    seen.push_back(source);
    trees.rows.push_back({fmt::to_string(channel), tree_text(plan.connection.tree(source))});
  }
  return trees;
}

}  // namespace

void add_rings_and_trees(core::Document& document, const JobPlan& plan) {
  document.details.emplace_back(core::Heading{"What carries the rings"});
  document.details.emplace_back(edge_table(plan));
  if (plan.connection.ranks() > kMostRanksExplained) {
    document.details.emplace_back(core::Paragraph{
        fmt::format("{} ranks: rings and trees are left out here; --json --full has every one.",
                    plan.connection.ranks())});
    return;
  }
  document.details.emplace_back(core::Heading{"Rings"});
  document.details.emplace_back(ring_table(plan));
  document.details.emplace_back(core::Heading{"Trees"});
  document.details.emplace_back(tree_table(plan));
}

}  // namespace comm_probe::cli
