// Pairs of nodes of two speeds, most of them the slower one, so that the median is no measure of
// what is slow: two of three pairs, half of a fleet. Which explanations are left?
//
//   nodes  every slow pair has one of some nodes in it and no fast pair has: these nodes, or their
//          paths to the others; single-node results and a pair inside of one switch tell them apart
//   groups pairs are fast inside of groups of nodes and slow between them: the paths between the
//          groups (narrower uplinks, which may be how the fabric was built)
//
// Two speeds are those with a gap of a quarter between them that is three times as wide as what
// figures of one speed differ by: noise makes no levels.
//
//   a-b 24.2, a-c 24.0, b-c 48.3 -> a, or its paths to b and c
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diagnose/pair_graph.h"

namespace comm_probe::diagnose {

struct PairLevels {
  std::vector<PairEdge> slow = {};
  std::vector<PairEdge> fast = {};
  double low_GBps = 0;  // medians
  double high_GBps = 0;
  // Without a fast pair, where every slow pair has one of them; else empty.
  std::set<std::string> nodes = {};
  // Nodes that are fast with each other, where all pairs between them are slow; of two nodes or
  // more each, else empty.
  std::vector<std::set<std::string>> groups = {};
};
// Nothing where the pairs are of one speed, or of several.
std::optional<PairLevels> levels_of(const PairGraph& graph);

// Of nodes that look slow because most of their pairs are: those that are fast with one another and
// with nobody else are a group of their own, and the paths to it are what is slow. `groups` are
// these and, last, the rest; `slow` the pairs of theirs. Nothing where no such group is among them.
std::optional<PairLevels> apart_of(const PairGraph& graph, const std::set<std::string>& suspects);

}  // namespace comm_probe::diagnose
