// Pairs of nodes of one group as a graph: each pair has one figure, each node its slow and its fast
// partners.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/fleet.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {

// Several results of one pair: repeats count by the best of them, the two directions of a matrix by
// the slower one.
struct PairEdge {
  const PairResult* result = nullptr;  // that counts
  double GBps = 0;
  bool is_slow = false;
  double reverse_GBps = 0;  // of the faster direction, where both were measured
};

struct NodePartners {
  std::vector<std::string> slow = {};
  std::vector<std::string> fast = {};
  std::vector<std::string> between = {};  // below the limit, and no outlier: proves nothing
  std::size_t all() const { return slow.size() + fast.size() + between.size(); }
};

struct PairGraph {
  std::string group = {};
  std::map<std::pair<std::string, std::string>, PairEdge> edges = {};
  std::map<std::string, NodePartners> nodes = {};
  std::vector<const PairResult*> failed = {};
  Typical typical = {};
  std::size_t below = 0;  // pairs below the limit, outliers or not
};

// One graph for each group; `slow_share` of the median is the limit. Groups of fewer than three
// pairs have no slow pair.
std::vector<PairGraph> pair_graphs(const std::vector<PairResult>& pairs, double slow_share);
constexpr std::size_t kLeastPairs = 3;  // two figures do not say which of them is the odd one
// The graph without the pairs of some nodes, judged by what is left.
PairGraph without_nodes(const PairGraph& graph, const std::set<std::string>& nodes,
                        double slow_share);

}  // namespace comm_probe::diagnose
