#include "diagnose/fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/fleet_levels.h"
#include "diagnose/link_tests.h"
#include "diagnose/outliers.h"
#include "diagnose/pair_graph.h"
#include "diagnose/pair_levels.h"
#include "diagnose/slow_nodes.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using core::make_finding;

// name, value, applies when, source
constexpr double kNodeShare = 0.5;  // of the partners of a node, where at least three are slow
constexpr std::size_t kNodePairs = 3;
constexpr double kNearlyAll = 0.8;  // of the partners: then those that are fast are the odd ones
constexpr double kSlowNode = 0.9;   // of the median of single nodes; NVSwitch boxes agree to 2 %
constexpr std::size_t kLeastNodes = 4;  // a median of fewer says nothing

// Slow with more than half of many partners, and fast with two or more.
bool is_half_slow(const NodePartners& partners) {
  const auto slow = static_cast<double>(partners.slow.size());
  const auto all = static_cast<double>(partners.all());
  return partners.slow.size() >= kNodePairs && partners.fast.size() >= 2 &&
         slow > kNodeShare * all && slow < kNearlyAll * all;
}

// Slow with all of its partners (two or more), each of which is fast with somebody; or with more
// than half of many.
bool is_the_node(const PairGraph& graph, const NodePartners& partners) {
  if (partners.slow.size() >= kNodePairs &&
      static_cast<double>(partners.slow.size()) > kNodeShare * static_cast<double>(partners.all()))
    return true;
  if (partners.slow.size() < 2 || !partners.fast.empty()) return false;
  return std::all_of(partners.slow.begin(), partners.slow.end(), [&](const std::string& partner) {
    return !graph.nodes.at(partner).fast.empty();
  });
}

std::vector<PairEdge> edges_of(const PairGraph& graph, const std::string& node,
                               const std::vector<std::string>& partners) {
  std::vector<PairEdge> edges;
  for (const std::string& partner : partners)
    edges.push_back(graph.edges.at(std::minmax(node, partner)));
  return edges;
}

std::vector<std::string> next_on(const std::string& node) {
  return {"on " + node + ": ibstat, ethtool -S, comm-probe topo check",
          node + " with a node on its own switch: slow again means the node"};
}

// A node that is fast with nobody, and the only one behind its switch, give the same figures.
std::string uplink_text(const NodePartners& partners) {
  return partners.fast.empty() ? "; where it is the only one behind its switch, the uplink fits too"
                               : "";
}

void say_node(const PairGraph& graph, const std::string& node, Alone alone, Judgement& out) {
  const NodePartners& partners = graph.nodes.at(node);
  Finding finding = make_finding(
      "curve.node-slow",
      fmt::format("{}: {} of {} pairs of {} are below 85 % of the median of all pairs: look at "
                  "this node and its own links first{}{}",
                  graph.group, partners.slow.size(), partners.all(), node, alone_text(alone),
                  uplink_text(partners)));
  finding.confidence =
      partners.slow.size() >= kNodePairs ? core::Confidence::kLikely : core::Confidence::kPossible;
  add_figures(finding, graph, edges_of(graph, node, partners.slow));
  finding.next = next_on(node);
  out.findings.push_back(std::move(finding));
}

// Slow beside its mates whoever the partner is (slow_nodes.h).
void say_slow_node(const PairGraph& graph, const SlowNode& slow, Alone alone, Judgement& out) {
  const NodePartners& partners = graph.nodes.at(slow.name);
  Finding finding = make_finding(
      "curve.node-slow",
      fmt::format(
          "{}: {} reaches {} of what {} other nodes reach with the same partners, and no "
          "more than they do with any of them: look at this node and its own links first{}{}",
          graph.group, slow.name, core::format_percent(slow.share, 2), slow.mates,
          alone_text(alone), uplink_text(partners)));
  finding.confidence =
      partners.all() >= kNodePairs ? core::Confidence::kLikely : core::Confidence::kPossible;
  std::vector<PairEdge> own = edges_of(graph, slow.name, partners.slow);
  for (const auto* more : {&partners.between, &partners.fast})
    for (const PairEdge& edge : edges_of(graph, slow.name, *more)) own.push_back(edge);
  add_figures(finding, graph, own);
  const Bandwidth observed = Bandwidth::from_GBps(finding.observed->value);
  finding.observed = figure(observed, core::Basis::kRead, "median of its pairs");
  finding.expected = figure(observed / slow.share, core::Basis::kComputed,
                            "what its mates reach with the same partners");
  finding.next = next_on(slow.name);
  out.findings.push_back(std::move(finding));
}

// Fast with some partners, which a slow port or slot would not allow.
void say_half_slow(const PairGraph& graph, const std::string& node, Judgement& out) {
  const NodePartners& partners = graph.nodes.at(node);
  Finding finding = make_finding(
      "curve.pair-or-node",
      fmt::format(
          "{}: {} is slow with {} of {} partners ({}) and fast with {} ({}): its own links "
          "can carry the rate, so what the slow pairs share fits (an uplink, a second port, "
          "a route), and a fault of the node that not every partner meets fits too",
          graph.group, node, partners.slow.size(), partners.all(), list_text(partners.slow),
          partners.fast.size(), list_text(partners.fast)));
  finding.confidence = core::Confidence::kPossible;
  add_figures(finding, graph, edges_of(graph, node, partners.slow));
  finding.next = {fmt::format("{} with each of {}, alone and twice: the same ones slow again means "
                              "the paths to them",
                              node, list_text(partners.slow)),
                  next_on(node).front()};
  out.findings.push_back(std::move(finding));
}

void say_paths(const PairGraph& graph, const std::vector<PairEdge>& slow, Judgement& out) {
  if (slow.empty()) return;
  std::vector<std::string> names;
  for (const PairEdge& edge : slow) names.push_back(pair_name(*edge.result));
  Finding finding = make_finding(
      "curve.pair-slow",
      fmt::format(
          "{}: {} of {} pairs are below 85 % of the median {}, and their nodes are fast with "
          "others, so it is the path between them: {}",
          graph.group, slow.size(), graph.edges.size(),
          core::format_bandwidth(Bandwidth::from_GBps(graph.typical.median)), list_text(names)));
  // Single figures of pairs all over the fleet: noise makes such, too.
  std::set<std::string> touched;
  for (const PairEdge& edge : slow) {
    touched.insert(edge.result->node_a);
    touched.insert(edge.result->node_b);
  }
  const bool is_everywhere = slow.size() >= kNodePairs && touched.size() * 2 > graph.nodes.size();
  finding.confidence = is_everywhere ? core::Confidence::kPossible : core::Confidence::kLikely;
  add_figures(finding, graph, slow);
  finding.next = {is_everywhere
                      ? "run the slow pairs again alone: those that are slow twice are paths, the "
                        "others were noise or load"
                      : "run the slow pairs again alone; the switch path they share is the first "
                        "suspect"};
  out.findings.push_back(std::move(finding));
}

// A node that is fast with somebody and stands outside of this pair: the most tested one.
std::optional<std::string> witness(const PairGraph& graph, const std::string& a,
                                   const std::string& b) {
  std::optional<std::string> best;
  std::size_t most = 0;
  for (const auto& [node, partners] : graph.nodes)
    if (node != a && node != b && partners.slow.empty() && partners.fast.size() > most) {
      best = node;
      most = partners.fast.size();
    }
  return best;
}

// A slow pair, one of whose nodes at least was not measured with anybody who is fast.
void say_open(const PairGraph& graph, const PairEdge& edge, Judgement& out) {
  const std::string& a = edge.result->node_a;
  const std::string& b = edge.result->node_b;
  std::vector<std::string> unproven;
  for (const std::string* node : {&a, &b})
    if (graph.nodes.at(*node).fast.empty()) unproven.push_back(*node);
  const auto other = witness(graph, a, b);
  Finding finding = make_finding(
      "curve.pair-or-node",
      fmt::format(
          "{}: {} is slow, {} of the median; {} {} no fast result with another node, so "
          "node and path both fit{}",
          graph.group, pair_name(*edge.result),
          core::format_percent(edge.GBps / graph.typical.median, 2), fmt::join(unproven, " and "),
          unproven.size() == 1 ? "has" : "have",
          other ? fmt::format(": run {} with {}", fmt::join(unproven, " and "), *other) : ""));
  finding.confidence = core::Confidence::kPossible;
  add_figures(finding, graph, {edge});
  for (const std::string& node : unproven)
    if (other)
      finding.next.push_back(
          fmt::format("{} with {}: slow again means {}, fast means the path "
                      "{}",
                      node, *other, node, pair_name(*edge.result)));
  if (finding.next.empty()) finding.next = {"run both nodes with a third one"};
  out.findings.push_back(std::move(finding));
}

// Pairs whose two directions differ. Where one node receives (or sends) in all of them, that is
// where to look.
void say_directions(const PairGraph& graph, Judgement& out) {
  std::vector<PairEdge> unlike;
  std::size_t both = 0;
  std::map<std::string, std::size_t> sends, receives;
  for (const auto& [names, edge] : graph.edges) {
    if (edge.reverse_GBps <= 0) continue;
    ++both;
    if (edge.GBps >= edge.reverse_GBps * kSlowShare) continue;
    unlike.push_back(edge);
    ++sends[edge.result->node_a];
    ++receives[edge.result->node_b];
  }
  // One pair of noisy single figures is no direction.
  if (unlike.size() < kNodePairs) return;
  const auto of_all = [&](const std::map<std::string, std::size_t>& counts) {
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& each) { return each.second == unlike.size(); });
    return found == counts.end() ? std::string() : found->first;
  };
  const std::string sender = of_all(sends), receiver = of_all(receives);
  std::string where = "in no common direction of one node";
  if (!receiver.empty()) where = "and only what " + receiver + " receives is slow";
  if (!sender.empty()) where = "and only what " + sender + " sends is slow";
  Finding finding = make_finding(
      "curve.directions-differ",
      fmt::format("{}: the two directions of {} of {} pairs differ by more than 15 %, {}",
                  graph.group, unlike.size(), both, where));
  finding.confidence = core::Confidence::kLikely;
  for (const PairEdge& edge : unlike)
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back(
          {edge.result->file, edge.result->line,
           fmt::format("{}: {}, the other way {}", pair_name(*edge.result),
                       core::format_bandwidth(Bandwidth::from_GBps(edge.GBps)),
                       core::format_bandwidth(Bandwidth::from_GBps(edge.reverse_GBps)))});
  finding.next = {
      "on the receiving side: pause frames and discards (ethtool -S), PCIe relaxed "
      "ordering, NUMA node of the NIC",
      "the same pairs once more, one direction at a time"};
  out.findings.push_back(std::move(finding));
}

void say_levels_if_any(const PairGraph& graph, const AloneByNode& alone, Judgement& out) {
  if (const auto levels = levels_of(graph)) say_levels(graph, alone, *levels, out);
}

void judge_rest(const PairGraph& graph, const AloneByNode& alone, Judgement& out) {
  if (std::none_of(graph.edges.begin(), graph.edges.end(),
                   [](const auto& edge) { return edge.second.is_slow; }))
    return say_levels_if_any(graph, alone, out);
  std::set<std::string> nodes, apart;
  for (const auto& [node, partners] : graph.nodes)
    if (is_the_node(graph, partners)) nodes.insert(node);
  if (const auto levels = apart_of(graph, nodes)) {
    say_levels(graph, alone, *levels, out);
    for (std::size_t i = 0; i + 1 < levels->groups.size(); ++i)
      apart.insert(levels->groups[i].begin(), levels->groups[i].end());
  } else {
    for (const std::set<std::string>& group : slow_groups_of(graph, nodes)) {
      say_slow_group(graph, group, out);
      apart.insert(group.begin(), group.end());
    }
  }
  for (const std::string& node : nodes) {
    if (apart.contains(node)) continue;
    if (is_half_slow(graph.nodes.at(node)))
      say_half_slow(graph, node, out);
    else
      say_node(graph, node, alone_of(alone, node), out);
  }
  std::vector<PairEdge> paths;
  for (const auto& [names, edge] : graph.edges) {
    if (!edge.is_slow || nodes.contains(names.first) || nodes.contains(names.second)) continue;
    const bool both_proven =
        !graph.nodes.at(names.first).fast.empty() && !graph.nodes.at(names.second).fast.empty();
    if (both_proven)
      paths.push_back(edge);
    else
      say_open(graph, edge, out);
  }
  say_paths(graph, paths, out);
}

// What stays below the limit and is neither node nor path, because figures differ too much.
void say_scattered(const PairGraph& graph, Judgement& out) {
  if (graph.edges.empty()) return;
  if (graph.edges.size() < kLeastPairs) {
    std::vector<std::string> rates;
    for (const auto& [names, edge] : graph.edges)
      rates.push_back(fmt::format("{} {}", pair_name(*edge.result),
                                  core::format_bandwidth(Bandwidth::from_GBps(edge.GBps))));
    out.caveats.push_back(core::make_caveat(
        "curve.pairs-few",
        fmt::format("{}: more pairs of nodes than {}", graph.group, fmt::join(rates, " and ")),
        "too few to say which of them is slow"));
    return;
  }
  out.caveats.push_back(core::make_caveat(
      "curve.pairs-scattered",
      fmt::format("{}: {} of {} pairs are below 85 % of the median {}, and figures differ by so "
                  "much ({}) that no node and no path stands out",
                  graph.group, graph.below, graph.edges.size(),
                  core::format_bandwidth(Bandwidth::from_GBps(graph.typical.median)),
                  core::format_percent(graph.typical.deviation / graph.typical.median, 2)),
      "slow pairs are not judged: repeat the runs, several of each pair, with nothing else on the "
      "network"));
}

void judge_graph(const PairGraph& graph, const AloneByNode& alone, Judgement& out) {
  const std::vector<SlowNode> slow = slow_nodes_of(graph, kSlowShare);
  std::set<std::string> names;
  for (const SlowNode& node : slow) {
    names.insert(node.name);
    say_slow_node(graph, node, alone_of(alone, node.name), out);
  }
  const PairGraph rest = names.empty() ? graph : without_nodes(graph, names, kSlowShare);
  const std::size_t said = out.findings.size();
  judge_rest(rest, alone, out);
  const bool is_open = out.findings.size() == said &&
                       (rest.below > 0 || (names.empty() && rest.edges.size() < kLeastPairs));
  if (is_open) say_scattered(rest, out);
  say_directions(graph, out);
}

void say_failed(const std::vector<PairGraph>& graphs, Judgement& out) {
  std::vector<std::string> names;
  std::set<std::pair<std::string, std::string>> pairs;  // both directions are one
  Finding finding = make_finding("curve.pair-failed", "");
  for (const PairGraph& graph : graphs)
    for (const PairResult* pair : graph.failed) {
      pairs.insert(std::minmax(pair->node_a, pair->node_b));
      names.push_back(pair_name(*pair));
      if (finding.evidence.size() < kMostEvidence)
        finding.evidence.push_back(
            {pair->file, pair->line,
             fmt::format("{}: {} has no result", pair_name(*pair), graph.group)});
    }
  if (names.empty()) return;
  finding.summary =
      fmt::format("{} pair{} of nodes ha{} no result: {}", pairs.size(),
                  pairs.size() == 1 ? "" : "s", pairs.size() == 1 ? "s" : "ve", list_text(names));
  finding.confidence = core::Confidence::kCertain;
  finding.next = {"run these pairs again with NCCL_DEBUG=INFO"};
  out.findings.push_back(std::move(finding));
}

// Several results of one node of a group: the best of them.
using BestByNode = std::map<std::string, const NodeResult*>;
std::map<std::string, BestByNode> groups_of(const std::vector<NodeResult>& nodes) {
  std::map<std::string, BestByNode> groups;
  for (const NodeResult& result : nodes) {
    const NodeResult*& best = groups[result.group][result.node];
    if (best == nullptr || result.rate > best->rate) best = &result;
  }
  return groups;
}

void say_alone(const NodeResult& result, const Typical& typical, std::size_t count,
               Judgement& out) {
  Finding finding = make_finding(
      "curve.node-slow-inside",
      fmt::format(
          "{}: {} reaches {}, {} of the median of {} nodes: no network is in it, look inside "
          "this node",
          result.group, result.node, core::format_bandwidth(result.rate),
          core::format_percent(result.rate.in_GBps() / typical.median, 2), count));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = figure(Bandwidth::from_GBps(typical.median), core::Basis::kRead,
                            fmt::format("median of {} nodes", count));
  finding.observed = figure(result.rate, core::Basis::kRead, result.file);
  finding.evidence = {{result.file, result.line,
                       fmt::format("{}: {}", result.node, core::format_bandwidth(result.rate))}};
  finding.next = {"on " + result.node + ": nvidia-smi nvlink -s, nvidia-smi topo -m, dmesg",
                  "comm-probe topo diff of this node and a good one"};
  out.findings.push_back(std::move(finding));
}

// Two or three nodes: which of them is the odd one nobody can say, but not that they are alike.
void say_unlike(const std::string& group, const BestByNode& best, Judgement& out) {
  const auto [slow, fast] = std::minmax_element(
      best.begin(), best.end(),
      [](const auto& a, const auto& b) { return a.second->rate < b.second->rate; });
  if (best.size() < 2 || slow->second->rate >= fast->second->rate * kSlowNode) return;
  Finding finding = make_finding(
      "curve.node-slow-inside",
      fmt::format("{}: {} reaches {}, {} of what {} does; of {} nodes nobody can say which is the "
                  "odd one",
                  group, slow->first, core::format_bandwidth(slow->second->rate),
                  core::format_percent(slow->second->rate / fast->second->rate, 2), fast->first,
                  best.size()));
  finding.severity = core::Severity::kInfo;
  finding.confidence = core::Confidence::kPossible;
  finding.expected = figure(fast->second->rate, core::Basis::kRead, fast->second->file);
  finding.observed = figure(slow->second->rate, core::Basis::kRead, slow->second->file);
  for (const NodeResult* result : {slow->second, fast->second})
    finding.evidence.push_back(
        {result->file, result->line,
         fmt::format("{}: {}", result->node, core::format_bandwidth(result->rate))});
  finding.next = {"the same run on both once more; comm-probe topo diff of the two"};
  out.findings.push_back(std::move(finding));
}

AloneByNode judge_nodes(const std::vector<NodeResult>& nodes, Judgement& out) {
  AloneByNode alone;
  for (const auto& [group, best] : groups_of(nodes)) {
    if (best.size() < kLeastNodes) {
      say_unlike(group, best, out);
      continue;
    }
    std::vector<double> rates;
    for (const auto& [node, result] : best) rates.push_back(result->rate.in_GBps());
    const Typical typical = typical_of(rates);
    for (const auto& [node, result] : best) {
      const bool slow = is_low(result->rate.in_GBps(), typical, kSlowNode);
      if (slow) say_alone(*result, typical, best.size(), out);
      if (slow || alone_of(alone, node) == Alone::kNotMeasured)
        alone[node] = slow ? Alone::kSlow : Alone::kAsOthers;
    }
  }
  return alone;
}

}  // namespace

Judgement judge_fleet(const Fleet& fleet) {
  Judgement out, inside;
  const AloneByNode alone = judge_nodes(fleet.nodes, inside);
  const std::vector<PairGraph> graphs = pair_graphs(fleet.pairs, kSlowShare);
  for (const PairGraph& graph : graphs) judge_graph(graph, alone, out);
  say_failed(graphs, out);
  out.add(std::move(inside));
  return out;
}

Judgement judge_together(std::span<const JudgedReading> readings) {
  Judgement out = judge_fleet(fleet_of(readings));
  // One benchmark of two hosts is judged as a curve; a list of pairs must say that it is too short.
  const bool lists_pairs =
      std::any_of(readings.begin(), readings.end(), [](const JudgedReading& reading) {
        return reading.reading != nullptr && !reading.reading->pairs.empty();
      });
  if (!lists_pairs)
    std::erase_if(out.caveats,
                  [](const core::Caveat& caveat) { return caveat.id == "curve.pairs-few"; });
  std::vector<ComparedTest> tests;
  for (const JudgedReading& reading : readings)
    for (std::size_t i = 0; i < reading.link_references.size(); ++i)
      tests.push_back({&reading.reading->links[i], reading.link_references[i]});
  out.add(compare_link_tests(tests));
  return out;
}

std::vector<PairSummary> summarise_pairs(const Fleet& fleet) {
  std::vector<PairSummary> summaries;
  for (const PairGraph& graph : pair_graphs(fleet.pairs, kSlowShare)) {
    PairSummary summary;
    summary.group = graph.group;
    summary.measured = graph.edges.size();
    summary.failed = graph.failed.size();
    summary.median = Bandwidth::from_GBps(graph.typical.median);
    const PairEdge* slowest = nullptr;
    for (const auto& [names, edge] : graph.edges) {
      if (edge.is_slow) ++summary.slow;
      if (slowest == nullptr || edge.GBps < slowest->GBps) slowest = &edge;
    }
    if (slowest != nullptr) {
      summary.slowest = Bandwidth::from_GBps(slowest->GBps);
      summary.slowest_pair = pair_name(*slowest->result);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace comm_probe::diagnose
