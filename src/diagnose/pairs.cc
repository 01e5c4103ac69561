#include "diagnose/pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using core::make_finding;
using curve::Pair;

// name, value, applies when, source
constexpr double kSlowShare = 0.85;  // of the median of the group; c72/c73 of the field curves
constexpr double kNodeShare = 0.5;   // of the pairs of a node
constexpr int kNodePairs = 3;
constexpr std::size_t kLeastPairs = 4;  // a median of fewer says nothing
constexpr std::size_t kMostEvidence = 12;

struct Group {
  std::string name = {};
  std::vector<const Pair*> measured = {};
  std::vector<const Pair*> failed = {};
  Bandwidth median = {};
};

std::vector<Group> groups_of(const std::vector<Pair>& pairs) {
  using Key = std::tuple<std::string, int, double, double>;
  std::map<Key, Group> groups;
  for (const Pair& pair : pairs) {
    Group& group =
        groups[{pair.test, pair.gpus_per_node, pair.min_bytes.count(), pair.max_bytes.count()}];
    group.name = fmt::format("{} with {} GPU{} per node", pair.test, pair.gpus_per_node,
                             pair.gpus_per_node == 1 ? "" : "s");
    (pair.avg_busbw ? group.measured : group.failed).push_back(&pair);
  }
  std::vector<Group> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

Bandwidth median_of(std::vector<const Pair*> pairs) {
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
  std::nth_element(pairs.begin(), middle, pairs.end(),
                   [](const Pair* a, const Pair* b) { return *a->avg_busbw < *b->avg_busbw; });
  return *(*middle)->avg_busbw;
}

std::string pair_name(const Pair& pair) { return pair.node_a + "-" + pair.node_b; }

core::Evidence evidence_of(const std::string& file, const Pair& pair, const Group& group) {
  return {file, pair.line,
          pair.avg_busbw
              ? fmt::format("{}: {} average busbw {}, {} of the median {}", pair_name(pair),
                            group.name, core::format_bandwidth(*pair.avg_busbw),
                            core::format_percent(*pair.avg_busbw / group.median, 2),
                            core::format_bandwidth(group.median))
              : fmt::format("{}: {} has no result", pair_name(pair), group.name)};
}

std::map<std::string, std::pair<int, int>> slow_and_all_by_node(
    const Group& group, const std::vector<const Pair*>& slow) {
  std::map<std::string, std::pair<int, int>> nodes;
  for (const Pair* pair : group.measured)
    for (const std::string& node : {pair->node_a, pair->node_b}) ++nodes[node].second;
  for (const Pair* pair : slow)
    for (const std::string& node : {pair->node_a, pair->node_b}) ++nodes[node].first;
  return nodes;
}

std::set<std::string> slow_nodes(const Group& group, const std::vector<const Pair*>& slow) {
  std::set<std::string> names;
  for (const auto& [node, counts] : slow_and_all_by_node(group, slow))
    if (counts.first >= kNodePairs && counts.first > kNodeShare * counts.second) names.insert(node);
  return names;
}

void say_nodes(const std::string& file, const Group& group, const std::vector<const Pair*>& slow,
               const std::set<std::string>& nodes, Judgement& out) {
  for (const std::string& node : nodes) {
    const auto counts = slow_and_all_by_node(group, slow).at(node);
    Finding finding = make_finding(
        "curve.node-slow",
        fmt::format("{}: {} of {} pairs of {} are below 85 % of the median of all pairs, those of "
                    "the other nodes are not: look at this node before any other",
                    group.name, counts.first, counts.second, node));
    finding.confidence = core::Confidence::kLikely;
    finding.expected =
        figure(group.median * kSlowShare, core::Basis::kRead,
               "85 % of the median of " + std::to_string(group.measured.size()) + " pairs");
    std::vector<const Pair*> own;
    for (const Pair* pair : slow)
      if (pair->node_a == node || pair->node_b == node) own.push_back(pair);
    finding.observed = figure(median_of(own), core::Basis::kRead, "median of its slow pairs");
    for (const Pair* pair : own)
      if (finding.evidence.size() < kMostEvidence)
        finding.evidence.push_back(evidence_of(file, *pair, group));
    finding.next = {"on " + node + ": ibstat, ethtool -S, comm-probe topo check"};
    out.findings.push_back(std::move(finding));
  }
}

void say_pairs(const std::string& file, const Group& group, const std::vector<const Pair*>& slow,
               Judgement& out) {
  if (slow.empty()) return;
  std::vector<std::string> names;
  for (const Pair* pair : slow) names.push_back(pair_name(*pair));
  Finding finding = make_finding(
      "curve.pair-slow", fmt::format("{}: {} of {} pairs are below 85 % of the median {}: {}",
                                     group.name, slow.size(), group.measured.size(),
                                     core::format_bandwidth(group.median), fmt::join(names, ", ")));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = figure(group.median * kSlowShare, core::Basis::kRead,
                            "at least; 85 % of the median of this table");
  finding.observed = figure(median_of(slow), core::Basis::kRead, "median of the slow pairs");
  for (const Pair* pair : slow)
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back(evidence_of(file, *pair, group));
  finding.next = {
      "run the slow pairs again alone; the switch path they share is the first suspect"};
  out.findings.push_back(std::move(finding));
}

void say_failed(const std::string& file, const std::vector<Group>& groups, Judgement& out) {
  std::vector<std::string> names;
  Finding finding = make_finding("curve.pair-failed", "");
  for (const Group& group : groups)
    for (const Pair* pair : group.failed) {
      names.push_back(pair_name(*pair));
      if (finding.evidence.size() < kMostEvidence)
        finding.evidence.push_back(evidence_of(file, *pair, group));
    }
  if (names.empty()) return;
  finding.summary = fmt::format("{} pair{} of nodes ha{} no result: {}", names.size(),
                                names.size() == 1 ? "" : "s", names.size() == 1 ? "s" : "ve",
                                fmt::join(names, ", "));
  finding.confidence = core::Confidence::kCertain;
  finding.next = {"run these pairs again with NCCL_DEBUG=INFO"};
  out.findings.push_back(std::move(finding));
}

}  // namespace

Judgement judge_pairs(const curve::Reading& reading) {
  Judgement out;
  std::vector<Group> groups = groups_of(reading.pairs);
  for (Group& group : groups) {
    if (group.measured.size() < kLeastPairs) continue;
    group.median = median_of(group.measured);
    std::vector<const Pair*> slow;
    for (const Pair* pair : group.measured)
      if (*pair->avg_busbw < group.median * kSlowShare) slow.push_back(pair);
    const auto nodes = slow_nodes(group, slow);
    say_nodes(reading.file, group, slow, nodes, out);
    std::erase_if(slow, [&](const Pair* pair) {
      return nodes.contains(pair->node_a) || nodes.contains(pair->node_b);
    });
    say_pairs(reading.file, group, slow, out);
  }
  say_failed(reading.file, groups, out);
  return out;
}

}  // namespace comm_probe::diagnose
