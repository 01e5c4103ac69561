// Pairs of nodes of one group as a graph: each pair has one figure, each node its slow and its fast
// partners.
#pragma once

#include <map>
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
};

struct NodePartners {
  std::vector<std::string> slow = {};
  std::vector<std::string> fast = {};
  std::size_t all() const { return slow.size() + fast.size(); }
};

struct PairGraph {
  std::string group = {};
  std::map<std::pair<std::string, std::string>, PairEdge> edges = {};
  std::map<std::string, NodePartners> nodes = {};
  std::vector<const PairResult*> failed = {};
  Typical typical = {};
};

// One graph for each group; `slow_share` of the median is the limit. Groups of fewer than three
// pairs have no slow pair.
std::vector<PairGraph> pair_graphs(const std::vector<PairResult>& pairs, double slow_share);

}  // namespace comm_probe::diagnose
