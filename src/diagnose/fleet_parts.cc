#include "diagnose/fleet_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::diagnose {

using core::Bandwidth;
using core::Finding;

namespace {

constexpr std::size_t kMostNamed = 24;  // in a sentence

core::Evidence evidence_of(const PairEdge& edge, const PairGraph& graph) {
  return {edge.result->file, edge.result->line,
          fmt::format("{}: {}, {} of the median {}", pair_name(*edge.result),
                      core::format_bandwidth(Bandwidth::from_GBps(edge.GBps)),
                      core::format_percent(edge.GBps / graph.typical.median, 2),
                      core::format_bandwidth(Bandwidth::from_GBps(graph.typical.median)))};
}

}  // namespace

std::string pair_name(const PairResult& pair) {
  return pair.node_a + (pair.is_directed ? "->" : "-") + pair.node_b;
}

std::string list_text(const std::vector<std::string>& names) {
  if (names.size() <= kMostNamed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMostNamed, ", "),
                     names.size() - kMostNamed);
}

std::string list_text(const std::set<std::string>& names) {
  return list_text(std::vector<std::string>(names.begin(), names.end()));
}

void add_figures(Finding& finding, const PairGraph& graph, const std::vector<PairEdge>& slow) {
  std::vector<double> rates;
  for (const PairEdge& edge : slow) {
    rates.push_back(edge.GBps);
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back(evidence_of(edge, graph));
  }
  finding.expected =
      core::figure(Bandwidth::from_GBps(graph.typical.median * kSlowShare), core::Basis::kRead,
                   fmt::format("at least; 85 % of the median of {} pairs", graph.edges.size()));
  finding.observed = core::figure(Bandwidth::from_GBps(typical_of(rates).median),
                                  core::Basis::kRead, "median of the slow pairs");
}

std::string alone_text(Alone alone) {
  switch (alone) {
    case Alone::kNotMeasured:
      return "";
    case Alone::kAsOthers:
      return "; alone it is as fast as the others, so look at its NICs, cables and ports";
    case Alone::kSlow:
      return "; it is slow alone too, so look inside it: GPUs, NVLink, PCIe";
  }
  return "";
}

Alone alone_of(const AloneByNode& alone, const std::string& node) {
  const auto found = alone.find(node);
  return found == alone.end() ? Alone::kNotMeasured : found->second;
}

// What single-node results say of nodes that are slow in pairs.
std::string alone_text(const AloneByNode& alone, const std::set<std::string>& nodes) {
  const auto count = [&](Alone what) {
    return static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(),
                      [&](const std::string& node) { return alone_of(alone, node) == what; }));
  };
  if (count(Alone::kSlow) == nodes.size()) return "; alone they are slow too";
  if (count(Alone::kAsOthers) == nodes.size()) return "; alone they are as fast as the others";
  return "";
}

}  // namespace comm_probe::diagnose
