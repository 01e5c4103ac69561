#include "diagnose/fleet_levels.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {

using core::Bandwidth;
using core::Finding;

namespace {

std::string rate_text(double GBps) { return core::format_bandwidth(Bandwidth::from_GBps(GBps)); }

// Groups, the paths between which are narrower; nodes that are fast with nobody beside them.
void explain_by_groups(const PairLevels& levels, Finding& finding) {
  finding.summary += fmt::format(
      "; pairs are fast inside of {} groups of nodes ({} | {}{}) and slow between them: "
      "the paths between the groups are narrower, as built or by a fault",
      levels.groups.size(), list_text(levels.groups[0]), list_text(levels.groups[1]),
      levels.groups.size() > 2 ? " | ..." : "");
  finding.next = {"the uplinks between these groups: their number, rate and counters",
                  "one pair between the groups alone, with nothing else on the network"};
  if (levels.lone.empty()) {
    finding.severity = core::Severity::kInfo;
    return;
  }
  const std::string& first = *levels.lone.begin();
  const bool is_one = levels.lone.size() == 1;
  finding.summary +=
      fmt::format("; {} {} fast with nobody: slow {}, or alone behind {} narrow path{} fit both",
                  list_text(levels.lone), is_one ? "is" : "are", is_one ? "itself" : "themselves",
                  is_one ? "a" : "their", is_one ? "," : "s,");
  finding.next.insert(
      finding.next.begin(),
      fmt::format("{} with a node on its own switch: slow again means {}", first, first));
}

void explain_by_nodes(const PairLevels& levels, const AloneByNode& alone, Finding& finding) {
  const bool is_one = levels.nodes.size() == 1;
  const std::string& first = *levels.nodes.begin();
  finding.summary += fmt::format(
      "; every slow pair has {} in it and no fast one has: {}, or {} to the others, fit both{}",
      (is_one ? "" : "one of ") + list_text(levels.nodes), is_one ? "this node" : "these nodes",
      is_one ? "its paths" : "their paths", alone_text(alone, levels.nodes));
  finding.next = {
      fmt::format("{} with a node on its own switch: fast means the path, slow means {}", first,
                  first),
      fmt::format("on {}: all_reduce_perf inside of the node, ibstat, comm-probe topo check",
                  first)};
}

// Slower pairs that are all alike are no fault of theirs.
void explain_by_hub(const PairLevels& levels, Finding& finding) {
  finding.severity = core::Severity::kInfo;
  finding.summary +=
      fmt::format("; every fast pair has {} in it, and the others are alike: {} is the odd one",
                  levels.hub, levels.hub);
  finding.next = {fmt::format("is {} another kind of node? comm-probe topo diff of it and another",
                              levels.hub)};
}

}  // namespace

void say_levels(const PairGraph& graph, const AloneByNode& alone, const PairLevels& levels,
                Judgement& out) {
  Finding finding = core::make_finding(
      "curve.pair-or-node",
      fmt::format("{}: {} of {} pairs reach {}, the other{} {}", graph.group, levels.slow.size(),
                  graph.edges.size(), rate_text(levels.low_GBps),
                  levels.fast.size() == 1 ? "" : "s", rate_text(levels.high_GBps)));
  if (!levels.groups.empty()) {
    explain_by_groups(levels, finding);
  } else if (!levels.hub.empty()) {
    explain_by_hub(levels, finding);
  } else if (!levels.nodes.empty()) {
    explain_by_nodes(levels, alone, finding);
  } else {
    finding.summary += "; no node and no group of nodes accounts for it: single paths, or load";
    finding.next = {"run the slow pairs again, one at a time"};
  }
  finding.confidence = core::Confidence::kPossible;
  PairGraph against_fast = graph;
  against_fast.typical.median = levels.high_GBps;
  add_figures(finding, against_fast, levels.slow);
  finding.expected = core::figure(Bandwidth::from_GBps(levels.high_GBps), core::Basis::kRead,
                                  "median of the fast pairs");
  out.findings.push_back(std::move(finding));
}

void say_slow_group(const PairGraph& graph, const std::set<std::string>& group, Judgement& out) {
  std::vector<double> among;
  std::vector<PairEdge> slow;
  for (const auto& [names, edge] : graph.edges) {
    const std::size_t members =
        std::size_t{group.contains(names.first)} + std::size_t{group.contains(names.second)};
    if (members == 2) among.push_back(edge.GBps);
    if (members == 1) slow.push_back(edge);
  }
  const double inside = *std::min_element(among.begin(), among.end());
  Finding finding = core::make_finding("curve.pair-or-node", "");
  add_figures(finding, graph, slow);
  finding.summary = fmt::format(
      "{}: {} reach {} with each other and {} with the rest, the median of all pairs is {}: what "
      "they share fits (their switch, its uplinks), and so do faults of each of them",
      graph.group, list_text(group), rate_text(inside), rate_text(finding.observed->value),
      rate_text(graph.typical.median));
  finding.confidence = core::Confidence::kPossible;
  finding.next = {"the switch of these nodes: its uplinks, their number, rate and counters",
                  fmt::format("on {}: ibstat, ethtool -S, comm-probe topo check", *group.begin())};
  out.findings.push_back(std::move(finding));
}

}  // namespace comm_probe::diagnose
