#include "diagnose/pair_levels.h"

#include <algorithm>
#include <map>

#include "diagnose/bonds.h"

namespace comm_probe::diagnose {
namespace {

// name, value, applies when, source
constexpr double kFarApart = 0.75;    // slow over fast; far below the 0.85 of one slow pair
constexpr double kOverSpread = 3;     // gap over what figures of one speed differ by
constexpr double kCloser = 1.15;      // 1 / 0.87: members of a group beside their pairs with others
constexpr std::size_t kLonePart = 4;  // one lone node of so many at most

// Sorted by rate: where the widest gap is.
std::size_t split_of(const std::vector<PairEdge>& edges) {
  std::size_t best = 1;
  for (std::size_t i = 1; i < edges.size(); ++i)
    if (edges[i].GBps * edges[best - 1].GBps > edges[best].GBps * edges[i - 1].GBps) best = i;
  return best;
}

double median_of(const std::vector<PairEdge>& sorted) { return sorted[sorted.size() / 2].GBps; }

double spread_of(const std::vector<PairEdge>& sorted) {
  return sorted.back().GBps - sorted.front().GBps;
}

bool is_in(const std::set<std::string>& nodes, const PairEdge& edge) {
  return nodes.contains(edge.result->node_a) || nodes.contains(edge.result->node_b);
}

std::set<std::string> nodes_without_fast(const PairGraph& graph, const PairLevels& levels) {
  std::set<std::string> nodes;
  for (const auto& [node, partners] : graph.nodes) nodes.insert(node);
  for (const PairEdge& edge : levels.fast) {
    nodes.erase(edge.result->node_a);
    nodes.erase(edge.result->node_b);
  }
  const bool explains_all = std::all_of(levels.slow.begin(), levels.slow.end(),
                                        [&](const PairEdge& edge) { return is_in(nodes, edge); });
  return explains_all ? nodes : std::set<std::string>();
}

// Without the nodes that are fast with nobody, if they are few.
std::set<std::string> lone_of(const PairGraph& graph, const PairLevels& levels) {
  std::set<std::string> lone;
  for (const auto& [node, partners] : graph.nodes) lone.insert(node);
  for (const PairEdge& edge : levels.fast) {
    lone.erase(edge.result->node_a);
    lone.erase(edge.result->node_b);
  }
  return lone.size() * kLonePart <= graph.nodes.size() ? lone : std::set<std::string>();
}

std::vector<std::set<std::string>> groups_of(const PairGraph& graph, const PairLevels& levels) {
  std::map<std::string, int> places;
  for (const auto& [node, partners] : graph.nodes)
    if (!levels.lone.contains(node)) places.emplace(node, static_cast<int>(places.size()));
  Bonds bonds(places.size());
  for (const PairEdge& edge : levels.fast)
    bonds.bind(places[edge.result->node_a], places[edge.result->node_b]);
  for (const PairEdge& edge : levels.slow) {
    if (is_in(levels.lone, edge)) continue;
    if (bonds.root(places[edge.result->node_a]) == bonds.root(places[edge.result->node_b]))
      return {};  // a slow pair inside of a group
  }
  std::map<int, std::set<std::string>> groups;
  for (const auto& [node, place] : places) groups[bonds.root(place)].insert(node);
  std::vector<std::set<std::string>> list;
  for (auto& [root, nodes] : groups) {
    if (nodes.size() < 2) return {};
    list.push_back(std::move(nodes));
  }
  return list.size() < 2 ? std::vector<std::set<std::string>>() : list;
}

// Two fast pairs at least, and all pairs of the node are fast.
std::string hub_of(const PairGraph& graph, const PairLevels& levels) {
  if (levels.fast.size() < 2) return {};
  const auto is_in_all_fast = [&](const std::string& node) {
    const auto has = [&](const PairEdge& edge) { return is_in({node}, edge); };
    return std::all_of(levels.fast.begin(), levels.fast.end(), has) &&
           std::none_of(levels.slow.begin(), levels.slow.end(), has);
  };
  for (const std::string& node : {levels.fast[0].result->node_a, levels.fast[0].result->node_b})
    if (graph.nodes.size() > 3 && is_in_all_fast(node)) return node;
  return {};
}

// `node` and whoever can be reached from it by fast pairs.
std::set<std::string> fast_with(const PairGraph& graph, const std::string& node) {
  std::set<std::string> group = {node};
  std::vector<std::string> open = {node};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const std::string& partner : graph.nodes.at(next).fast)
      if (group.insert(partner).second) open.push_back(partner);
  }
  return group;
}

bool has_slow_pair(const PairGraph& graph, const std::set<std::string>& group) {
  return std::any_of(graph.edges.begin(), graph.edges.end(), [&](const auto& edge) {
    return edge.second.is_slow && group.contains(edge.first.first) &&
           group.contains(edge.first.second);
  });
}

std::vector<std::set<std::string>> groups_among(const PairGraph& graph,
                                                std::set<std::string> suspects) {
  std::vector<std::set<std::string>> groups;
  while (!suspects.empty()) {
    const std::set<std::string> group = fast_with(graph, *suspects.begin());
    const bool is_apart =
        std::includes(suspects.begin(), suspects.end(), group.begin(), group.end());
    if (group.size() > 1 && is_apart && !has_slow_pair(graph, group)) groups.push_back(group);
    for (const std::string& node : group) suspects.erase(node);
  }
  return groups;
}

void by_rate(std::vector<PairEdge>& edges) {
  std::stable_sort(edges.begin(), edges.end(),
                   [](const PairEdge& a, const PairEdge& b) { return a.GBps < b.GBps; });
}

}  // namespace

std::optional<PairLevels> apart_of(const PairGraph& graph, const std::set<std::string>& suspects) {
  PairLevels levels;
  levels.groups = groups_among(graph, suspects);
  if (levels.groups.empty()) return std::nullopt;
  std::set<std::string> apart, rest;
  for (const std::set<std::string>& group : levels.groups) apart.insert(group.begin(), group.end());
  for (const auto& [node, partners] : graph.nodes)
    if (!apart.contains(node)) rest.insert(node);
  for (const auto& [names, edge] : graph.edges) {
    if (!edge.is_slow) levels.fast.push_back(edge);
    if (edge.is_slow && is_in(apart, edge)) levels.slow.push_back(edge);
  }
  levels.groups.push_back(std::move(rest));
  by_rate(levels.slow);
  by_rate(levels.fast);
  levels.low_GBps = median_of(levels.slow);
  levels.high_GBps = median_of(levels.fast);
  return levels;
}

std::optional<PairLevels> levels_of(const PairGraph& graph) {
  if (graph.edges.size() < kLeastPairs) return std::nullopt;
  std::vector<PairEdge> edges;
  for (const auto& [names, edge] : graph.edges) edges.push_back(edge);
  by_rate(edges);
  const auto split = edges.begin() + static_cast<std::ptrdiff_t>(split_of(edges));
  PairLevels levels{{edges.begin(), split}, {split, edges.end()}};
  const double below = levels.slow.back().GBps, above = levels.fast.front().GBps;
  const double spread = std::max(spread_of(levels.slow), spread_of(levels.fast));
  if (below > above * kFarApart || above - below < kOverSpread * spread) return std::nullopt;
  levels.low_GBps = median_of(levels.slow);
  levels.high_GBps = median_of(levels.fast);
  levels.nodes = nodes_without_fast(graph, levels);
  levels.groups = groups_of(graph, levels);
  if (levels.groups.empty() && levels.nodes.empty()) {
    levels.lone = lone_of(graph, levels);
    levels.groups = groups_of(graph, levels);
    if (levels.groups.empty()) levels.lone.clear();
  }
  levels.hub = hub_of(graph, levels);
  return levels;
}

namespace {

double rate_between(const PairGraph& graph, const std::string& a, const std::string& b) {
  const auto edge = graph.edges.find(std::minmax(a, b));
  return edge == graph.edges.end() ? 0 : edge->second.GBps;
}

// What `node` reaches with those outside: the median; zero without.
double outside_of(const PairGraph& graph, const std::string& node,
                  const std::set<std::string>& suspects) {
  std::vector<double> rates;
  for (const auto& [other, partners] : graph.nodes)
    if (const double rate = rate_between(graph, node, other); rate > 0 && !suspects.contains(other))
      rates.push_back(rate);
  if (rates.empty()) return 0;
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

}  // namespace

std::vector<std::set<std::string>> slow_groups_of(const PairGraph& graph,
                                                  const std::set<std::string>& suspects) {
  std::map<std::string, double> outside;
  for (const std::string& node : suspects) outside[node] = outside_of(graph, node, suspects);
  const auto is_closer = [&](const std::string& a, const std::string& b) {
    const double both = std::max(outside[a], outside[b]);
    return both > 0 && rate_between(graph, a, b) >= kCloser * both;
  };
  std::vector<std::set<std::string>> groups;
  for (const std::string& node : suspects) {
    const auto joins = [&](const std::set<std::string>& group) {
      return std::all_of(group.begin(), group.end(),
                         [&](const std::string& member) { return is_closer(node, member); });
    };
    const auto group = std::find_if(groups.begin(), groups.end(), joins);
    if (group != groups.end())
      group->insert(node);
    else
      groups.push_back({node});
  }
  std::erase_if(groups, [](const std::set<std::string>& group) { return group.size() < 2; });
  return groups;
}

}  // namespace comm_probe::diagnose
