#include "diagnose/pair_graph.h"

#include <algorithm>

namespace comm_probe::diagnose {
namespace {

constexpr std::size_t kLeastPairs = 3;  // two figures do not say which of them is the odd one

// The best of the repeats of one direction, the slower of the directions.
struct Directions {
  std::map<std::string, PairEdge> from = {};
  void add(const PairResult& result) {
    PairEdge& edge = from[result.is_directed ? result.node_a : ""];
    const double GBps = result.rate->in_GBps();
    if (edge.result == nullptr || GBps > edge.GBps) edge = {&result, GBps, false};
  }
  PairEdge slower() const {
    return std::min_element(
               from.begin(), from.end(),
               [](const auto& a, const auto& b) { return a.second.GBps < b.second.GBps; })
        ->second;
  }
};

void classify(PairGraph& graph, double slow_share) {
  std::vector<double> rates;
  for (const auto& [names, edge] : graph.edges) rates.push_back(edge.GBps);
  graph.typical = typical_of(rates, Middle::kUpper);
  const bool enough = graph.edges.size() >= kLeastPairs;
  for (auto& [names, edge] : graph.edges) {
    edge.is_slow = enough && is_low(edge.GBps, graph.typical, slow_share);
    const auto add = [&graph, is_slow = edge.is_slow](const std::string& node,
                                                      const std::string& partner) {
      NodePartners& partners = graph.nodes[node];
      (is_slow ? partners.slow : partners.fast).push_back(partner);
    };
    add(names.first, names.second);
    add(names.second, names.first);
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

}  // namespace comm_probe::diagnose
