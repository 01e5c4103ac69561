#include "diagnose/pair_graph.h"

#include <algorithm>

namespace comm_probe::diagnose {
namespace {

// The best of the repeats of one direction, the slower of the directions.
struct Directions {
  std::map<std::string, PairEdge> from = {};
  void add(const PairResult& result) {
    PairEdge& edge = from[result.is_directed ? result.node_a : ""];
    const double GBps = result.rate->in_GBps();
    if (edge.result == nullptr || GBps > edge.GBps) edge = {&result, GBps, false, 0};
  }
  PairEdge slower() const {
    const auto [least, most] = std::minmax_element(
        from.begin(), from.end(),
        [](const auto& a, const auto& b) { return a.second.GBps < b.second.GBps; });
    PairEdge edge = least->second;
    if (from.size() > 1) edge.reverse_GBps = most->second.GBps;
    return edge;
  }
};

// name, value, applies when, source
constexpr std::size_t kFewPairs = 15;  // all pairs of six nodes: of fewer the spread is a guess
constexpr double kApart =
    3;  // normal noise of 10 % on six figures passes it once in a hundred times

// Among few single figures a slow one stands out only where the gap to the others is far wider than
// what those differ by themselves.
bool stand_apart(const PairGraph& graph) {
  double most_slow = 0, least = 1e300, most = 0;
  for (const auto& [names, edge] : graph.edges) {
    if (edge.is_slow) most_slow = std::max(most_slow, edge.GBps);
    if (edge.is_slow) continue;
    least = std::min(least, edge.GBps);
    most = std::max(most, edge.GBps);
  }
  return least - most_slow > kApart * (most - least);
}

void classify(PairGraph& graph, double slow_share) {
  std::vector<double> rates;
  for (const auto& [names, edge] : graph.edges) rates.push_back(edge.GBps);
  graph.typical = typical_of(rates, Middle::kUpper);
  graph.below = 0;
  const bool enough = graph.edges.size() >= kLeastPairs;
  for (auto& [names, edge] : graph.edges)
    edge.is_slow = enough && is_low(edge.GBps, graph.typical, slow_share);
  if (graph.edges.size() < kFewPairs && !stand_apart(graph))
    for (auto& [names, edge] : graph.edges) edge.is_slow = false;
  for (auto& [names, edge] : graph.edges) {
    const bool is_below = edge.GBps < graph.typical.median * slow_share;
    if (is_below) ++graph.below;
    const auto list = edge.is_slow ? &NodePartners::slow
                                   : (is_below ? &NodePartners::between : &NodePartners::fast);
    (graph.nodes[names.first].*list).push_back(names.second);
    (graph.nodes[names.second].*list).push_back(names.first);
  }
}

}  // namespace

std::vector<PairGraph> pair_graphs(const std::vector<PairResult>& pairs, double slow_share) {
  std::map<std::string, PairGraph> graphs;
  std::map<std::string, std::map<std::pair<std::string, std::string>, Directions>> measured;
  for (const PairResult& result : pairs) {
    if (result.node_a == result.node_b) continue;
    PairGraph& graph = graphs[result.group];
    graph.group = result.group;
    if (result.rate)
      measured[result.group][std::minmax(result.node_a, result.node_b)].add(result);
    else
      graph.failed.push_back(&result);
  }
  std::vector<PairGraph> list;
  for (auto& [group, graph] : graphs) {
    for (const auto& [names, directions] : measured[group])
      graph.edges[names] = directions.slower();
    classify(graph, slow_share);
    list.push_back(std::move(graph));
  }
  return list;
}

PairGraph without_nodes(const PairGraph& graph, const std::set<std::string>& nodes,
                        double slow_share) {
  PairGraph rest;
  rest.group = graph.group;
  for (const auto& [names, edge] : graph.edges)
    if (!nodes.contains(names.first) && !nodes.contains(names.second)) rest.edges[names] = edge;
  classify(rest, slow_share);
  return rest;
}

}  // namespace comm_probe::diagnose
