// Pairs of nodes of two speeds, most of them the slower one, so that the median is no measure of
// what is slow: two of three pairs, half of a fleet. Which explanations are left?
//
//   nodes  every slow pair has one of some nodes in it and no fast pair has: these nodes, or their
//          paths to the others; single-node results and a pair inside of one switch tell them apart
//   groups pairs are fast inside of groups of nodes and slow between them: the paths between the
//          groups (narrower uplinks, which may be how the fabric was built); a node or two that are
//          fast with nobody beside such groups are slow themselves, or groups of their own
//   hub    every fast pair has one node in it: the others are alike, and it is the odd one
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
  std::set<std::string> lone = {};  // fast with nobody, beside groups
  std::string hub = {};             // in every fast pair; empty where there is none
};
// Nothing where the pairs are of one speed, or of several.
std::optional<PairLevels> levels_of(const PairGraph& graph);

// Of nodes that look slow because most of their pairs are: those that are fast with one another and
// with nobody else are a group of their own, and the paths to it are what is slow. `groups` are
// these and, last, the rest; `slow` the pairs of theirs. Nothing where no such group is among them.
std::optional<PairLevels> apart_of(const PairGraph& graph, const std::set<std::string>& suspects);

// Of such nodes, groups that are all slow with the rest and clearly faster with each other, though
// not as fast as the rest are among themselves: what the members share (their switch) fits.
//
//   nine nodes 380 among themselves, three more 190 with them and 228 with each other -> the three
std::vector<std::set<std::string>> slow_groups_of(const PairGraph& graph,
                                                  const std::set<std::string>& suspects);

}  // namespace comm_probe::diagnose
