#include "cli/plan_graphs_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/plan_json.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using nccl::Connection;
using nccl::Graph;
using nccl::Graphs;
using nccl::JobPlan;
using nccl::Pattern;
using nccl::TreeLinks;

constexpr int kMostRanksOfRing = 64;  // above: rings are cut to two nodes' worth
constexpr int kMostRanksOfTree = 32;  // above: trees are left out
// Above both this and the number of ranks: edges of the two trees of channel 0 only.
constexpr int kMostNodesOfEdges = 4;
constexpr int kMostGpusOfEnds = 16;

// FNV-1a, 64 bits.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      value_ ^= static_cast<unsigned char>(c);
      value_ *= 0x100000001b3ULL;
    }
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

Json channel_json(const nccl::GraphChannel& channel, Pattern pattern) {
  Json json = Json::object();
  const bool has_head = pattern == Pattern::kNvls || pattern == Pattern::kCollnetDirect;
  if (channel.net_in >= 0)
    json["net"] = has_head ? Json{channel.net_in} : Json{channel.net_in, channel.net_out};
  json["gpus"] = channel.ranks;
  return json;
}

Json channels_json(const Graph& graph) {
  Json all = Json::array();
  for (const auto& channel : graph.channels)
    all.push_back(channel_json(channel, graph.traits.pattern));
  return all;
}

void add_traits(Json& json, const nccl::GraphTraits& traits) {
  json["pattern_name"] = pattern_name(traits.pattern);
  json["n_channels"] = traits.n_channels;
  json["same_channels"] = traits.same_channels ? 1 : 0;
  json["cross_nic"] = traits.cross_nic;
  json["bw_intra"] = json_rate(traits.bw_intra);
  json["bw_inter"] = json_rate(traits.bw_inter);
  json["type_intra"] = path_type_name(traits.type_intra);
  json["type_inter"] = path_type_name(traits.type_inter);
}

Json effort_json(const nccl::SearchEffort& effort) {
  return {{"steps", effort.steps},
          {"searches", effort.searches},
          {"searches_cut", effort.searches_cut},
          {"total_budget_cut", effort.total_budget_cut},
          {"fallback", effort.is_fallback}};
}

Json graph_json(const Graph& graph) {
  Json json = {{"id", graph.id}, {"pattern", static_cast<int>(graph.traits.pattern)}};
  add_traits(json, graph.traits);
  json["latency_inter"] = core::json_number(graph.latency_inter.in_us());
  json["n_hops"] = graph.n_hops;
  json["min_channels"] = graph.min_channels;
  json["max_channels"] = graph.max_channels;
  json["channels"] = channels_json(graph);
  json["search"] = effort_json(graph.effort);
  return json;
}

Json domain_graph_json(const Graph& graph) {
  Json json = Json::object();
  add_traits(json, graph.traits);
  json["channels"] = channels_json(graph);
  return json;
}

Json graphs_json(const Graphs& graphs) {
  Json json = {{"ring", graph_json(graphs.ring)}, {"tree", graph_json(graphs.tree)}};
  if (graphs.collnet_chain) json["collnet_chain"] = graph_json(*graphs.collnet_chain);
  if (graphs.collnet_direct) json["collnet_direct"] = graph_json(*graphs.collnet_direct);
  if (graphs.nvls) json["nvls"] = graph_json(*graphs.nvls);
  return json;
}

Json counts_json(const nccl::ChannelCounts& counts) {
  return {{"search", counts.search},
          {"coll", counts.coll},
          {"nvls", counts.nvls},
          {"p2p", counts.p2p},
          {"p2p_per_peer", counts.p2p_per_peer},
          {"nvls_heads", counts.nvls_heads}};
}

// Numbers values by their first appearance.
template <class Value>
class Numbering {
 public:
  int number_of(Value value) {
    const auto found = std::find(values_.begin(), values_.end(), value);
    if (found != values_.end()) return static_cast<int>(found - values_.begin());
    values_.push_back(std::move(value));
    return static_cast<int>(values_.size()) - 1;
  }
  const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_ = {};
};

Json rings_json(const JobPlan& plan, bool is_full) {
  const Connection& connection = plan.connection;
  Numbering<std::vector<int>> orders;
  std::vector<std::string> texts;
  Json numbers = Json::array();
  Hash hash;
  std::vector<int> known(static_cast<std::size_t>(connection.search_channels()), -1);
  for (const nccl::ChannelSource& source : plan.channels) {
    int& number = known[static_cast<std::size_t>(source.search)];
    if (number < 0) number = orders.number_of(connection.ring(source.search));
    if (number == static_cast<int>(texts.size()))
      texts.push_back(fmt::format("{};", fmt::join(orders.values().back(), ",")));
    hash.add(texts[static_cast<std::size_t>(number)]);
    numbers.push_back(number);
  }
  const bool is_whole = is_full || connection.ranks() <= kMostRanksOfRing;
  const auto shown = static_cast<std::ptrdiff_t>(
      std::min(connection.ranks(), 2 * connection.ranks() / plan.job.reach.job.nodes));
  Json unique = Json::array();
  for (const std::vector<int>& order : orders.values())
    unique.push_back(is_whole ? order : std::vector<int>(order.begin(), order.begin() + shown));
  return {{"hash", hash.text()},
          {"channel_to_unique", numbers},
          {"full", is_whole ? 1 : 0},
          {"unique", unique},
          {"concat_rule_holds", 1}};
}

std::string tree_text(const std::vector<TreeLinks>& tree) {
  fmt::memory_buffer text;
  for (const TreeLinks& links : tree) {
    if (text.size() > 0) text.push_back(' ');
    fmt::format_to(std::back_inserter(text), "{}:{}/{}/{}", links.up, links.down[0], links.down[1],
                   links.down[2]);
  }
  return fmt::to_string(text);
}

// "child>parent" of every edge between nodes.
std::string edges_text(const std::vector<TreeLinks>& tree, const std::vector<int>& node_of_rank) {
  std::string text;
  for (std::size_t rank = 0; rank < tree.size(); ++rank) {
    const int up = tree[rank].up;
    if (up < 0 || node_of_rank[rank] == node_of_rank[static_cast<std::size_t>(up)]) continue;
    text += fmt::format("{}{}>{}", text.empty() ? "" : " ", rank, up);
  }
  return text;
}

std::vector<int> nodes_of_ranks(const JobPlan& plan) {
  std::vector<int> nodes(static_cast<std::size_t>(plan.connection.ranks()));
  const auto& domains = plan.job.domains;
  const int per_host = plan.connection.ranks() / plan.job.reach.job.nodes;
  for (int host = 0; host < plan.job.reach.job.nodes; ++host)
    for (std::size_t domain = 0; domain < domains.size(); ++domain)
      for (const int rank : domains[domain])
        nodes[static_cast<std::size_t>(host * per_host + rank)] =
            host * static_cast<int>(domains.size()) + static_cast<int>(domain);
  return nodes;
}

Json edges_json(const JobPlan& plan, const std::vector<std::vector<TreeLinks>>& trees,
                const std::vector<int>& numbers) {
  const std::vector<int> nodes = nodes_of_ranks(plan);
  Json edges = Json::array();
  const auto add = [&](std::size_t channel) {
    edges.push_back(
        {{"channel", channel},
         {"child>parent", edges_text(trees[static_cast<std::size_t>(numbers[channel])], nodes)}});
  };
  if (plan.connection.nodes() > kMostNodesOfEdges && plan.connection.ranks() > kMostRanksOfTree) {
    add(0);
    const auto second = static_cast<std::size_t>(plan.connection.search_channels());
    if (second < numbers.size()) add(second);
    return edges;
  }
  for (std::size_t tree = 0; tree < trees.size(); ++tree)
    add(static_cast<std::size_t>(std::find(numbers.begin(), numbers.end(), static_cast<int>(tree)) -
                                 numbers.begin()));
  return edges;
}

Json trees_json(const JobPlan& plan, bool is_full) {
  const Connection& connection = plan.connection;
  Numbering<std::vector<TreeLinks>> trees;
  Numbering<std::pair<int, int>> sources;
  std::vector<int> known;
  std::vector<int> numbers;
  std::vector<std::string> texts;
  Hash hash;
  for (const nccl::ChannelSource& source : plan.channels) {
    const int at = sources.number_of({source.search, static_cast<int>(source.half)});
    if (at == static_cast<int>(known.size()))
      known.push_back(trees.number_of(connection.tree(source)));
    const int number = known[static_cast<std::size_t>(at)];
    if (number == static_cast<int>(texts.size())) texts.push_back(tree_text(trees.values().back()));
    hash.add(texts[static_cast<std::size_t>(number)]);
    hash.add(";");
    numbers.push_back(number);
  }
  const bool is_whole = is_full || connection.ranks() <= kMostRanksOfTree;
  Json json = {{"hash", hash.text()},
               {"channel_to_unique", numbers},
               {"depth", connection.tree_depth()},
               {"full", is_whole ? 1 : 0}};
  if (is_whole) json["unique"] = texts;
  if (connection.nodes() > 1) json["inter_edges"] = edges_json(plan, trees.values(), numbers);
  return json;
}

Json nvls_json(const JobPlan& plan) {
  Json json = {{"heads_node0", plan.connection.nvls_heads()}};
  if (plan.connection.nodes() == 1) return json;
  json["tree_head0"] = Json::array();
  for (const auto half : {nccl::TreeHalf::kFirst, nccl::TreeHalf::kSecond}) {
    std::string text;
    for (const nccl::NvlsTreeLinks& links : plan.connection.nvls_tree(half))
      text += fmt::format("{}{}:{}/{}/{}", text.empty() ? "" : " ", links.rank, links.up,
                          links.down[0], links.down[1]);
    json["tree_head0"].push_back(text);
  }
  return json;
}

Json ring_ends_json(const JobPlan& plan) {
  const nccl::Reach& reach = plan.job.reach;
  const auto end_json = [&](const nccl::RingEnd& end) {
    const int dev = end.net < 0 ? -1 : reach.net(end.net).dev.value_or(-1);
    return Json{end.rank, dev, end.driver, end.gdr_mode};
  };
  Json all = Json::array();
  for (const nccl::RingEnds& ends : ring_ends(plan))
    all.push_back({{"send", end_json(ends.send)}, {"recv", end_json(ends.receive)}});
  return all;
}

// Beyond the oracle: what carries each edge of node 0.
Json edges_of_node_json(const JobPlan& plan) {
  Json all = Json::array();
  for (const nccl::RingEdge& edge : ring_edges(plan))
    all.push_back(
        {{"channel", edge.channel}, {"from", edge.from}, {"to", edge.to}, {"via", edge.via}});
  return all;
}

}  // namespace

void add_graphs_json(Json& result, const JobPlan& plan, bool is_full) {
  const std::vector<Graphs>& domains = plan.connection.domains();
  result["nccl_nodes"] = plan.connection.nodes();
  result["graphs"] = graphs_json(domains.front());
  for (std::size_t domain = 1; domain < domains.size(); ++domain)
    result[fmt::format("graphs_domain{}", domain)] = {
        {"ring", domain_graph_json(domains[domain].ring)},
        {"tree", domain_graph_json(domains[domain].tree)}};
  result["channels"] = counts_json(plan.counts);
  result["rings"] = rings_json(plan, is_full);
  result["trees"] = trees_json(plan, is_full);
  if (plan.counts.nvls > 0) result["nvls"] = nvls_json(plan);
  if (plan.connection.nodes() > 1 && plan.job.reach.nets() > 0 &&
      plan.job.reach.gpus() <= kMostGpusOfEnds)
    result["ring_net_node0"] = ring_ends_json(plan);
  if (is_full || plan.job.reach.gpus() <= kMostGpusOfEnds)
    result["ring_edges_node0"] = edges_of_node_json(plan);
}

}  // namespace comm_probe::cli
