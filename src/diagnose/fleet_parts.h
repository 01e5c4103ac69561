// What the judges of a fleet share: names of pairs, the figures of a finding, and what results of
// single nodes say of the nodes of slow pairs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "diagnose/pair_graph.h"

namespace comm_probe::diagnose {

// name, value, applies when, source
constexpr double kSlowShare = 0.85;  // of the median of the group; c72/c73 of the field curves
constexpr std::size_t kMostEvidence = 12;

// "node02->node05"
std::string pair_name(const PairResult& pair);
// "node01, node02 and 30 more"
std::string list_text(const std::vector<std::string>& names);
std::string list_text(const std::set<std::string>& names);
// Evidence, expected and observed of slow pairs, by the median of their graph.
void add_figures(core::Finding& finding, const PairGraph& graph, const std::vector<PairEdge>& slow);

// What single-node results say about this node.
enum class Alone { kNotMeasured, kAsOthers, kSlow };
using AloneByNode = std::map<std::string, Alone>;

std::string alone_text(Alone alone);
Alone alone_of(const AloneByNode& alone, const std::string& node);
// Of several nodes, where they agree.
std::string alone_text(const AloneByNode& alone, const std::set<std::string>& nodes);

}  // namespace comm_probe::diagnose
