// Latency of a combination: steps times what a step costs.
#include <algorithm>
#include <bit>

#include "nccl/tuning_model.h"

namespace comm_probe::nccl {
namespace {

int log2_floor(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }
float single(double value) { return static_cast<float>(value); }

// What one step costs inside a node and between nodes.
struct Steps {
  float intra = 0;
  float inter = 0;
};

float of(const PerMethod<float>& table, Algorithm algorithm, Protocol protocol) {
  return table[index_of(algorithm)][index_of(protocol)];
}

// NVLink only where no path is farther; LOC (one GPU per node) counts as PCI.
Wire inner_wire(const TuningFacts& facts, Algorithm algorithm) {
  return graph_of(facts.agreement, algorithm).type_intra == topology::PathType::kNvl ? Wire::kNvlink
                                                                                     : Wire::kPci;
}

float latency_inter(const Agreement& agreement, Algorithm algorithm) {
  const auto us = [&] {
    switch (algorithm) {
      case Algorithm::kTree:
      case Algorithm::kPat:
        return agreement.latency_tree.in_us();
      case Algorithm::kRing:
        return agreement.latency_ring.in_us();
      case Algorithm::kCollNetDirect:
        return agreement.latency_collnet_direct.in_us();
      case Algorithm::kCollNetChain:
        return agreement.latency_collnet_chain.in_us();
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        return agreement.latency_nvls.in_us();
    }
    return 0.0;
  };
  return single(us());
}

float hw_latency(const TuningFacts& facts, Wire wire, Algorithm algorithm, Protocol protocol) {
  // A POWER CPU costs a tree what it costs a ring.
  if (wire == Wire::kPci && algorithm == Algorithm::kTree && protocol == Protocol::kSimple &&
      facts.agreement.cpu_arch == topology::Cpu::Arch::kPower)
    algorithm = Algorithm::kRing;
  return of(facts.constants.hw_latency[index_of(wire)], algorithm, protocol);
}

Steps steps_of(const TuningFacts& facts, const Combination& what) {
  const bool lone = facts.constants.lone_ranks_use_tree_wire && facts.ranks_per_node == 1;
  const float net = latency_inter(facts.agreement, what.algorithm);
  Steps steps;
  steps.intra = hw_latency(facts, inner_wire(facts, what.algorithm), what.algorithm, what.protocol);
  steps.inter =
      hw_latency(facts, Wire::kNet, lone ? Algorithm::kTree : what.algorithm, what.protocol) + net;
  if (what.protocol == Protocol::kSimple) steps.inter += net;
  return steps;
}

// The network's share of the CPU's time, us.
float net_overhead(const TuningFacts& facts) {
  if (const auto given = facts.job.settings.net_overhead) return single(given->in_us());
  return facts.agreement.cpu_arch == topology::Cpu::Arch::kX86 &&
                 facts.agreement.cpu_vendor == topology::Cpu::Vendor::kAmd
             ? 2.0F
             : 1.0F;
}

float one_way_ring(const TuningFacts& facts, const Combination& what, float base) {
  const Wire wire = facts.nodes == 1 ? inner_wire(facts, Algorithm::kRing) : Wire::kNet;
  float step = hw_latency(facts, wire, Algorithm::kRing, what.protocol);
  if (facts.agreement.ring.same_channels) return base + step;
  if (what.protocol == Protocol::kSimple)
    step = hw_latency(facts, wire, Algorithm::kTree, what.protocol);
  return base + static_cast<float>(ring_steps(what.function, facts.ranks)) * step;
}

float ring(const TuningFacts& facts, const Combination& what, Steps steps) {
  float overhead = facts.nodes > 1 ? net_overhead(facts) : 0;
  if (what.protocol == Protocol::kSimple) overhead *= 3;
  steps.intra = std::max(steps.intra, overhead);
  const int turns = facts.constants.ring_net_steps_count_turns ? facts.nodes - 1 : facts.nodes;
  int crossings = 0;
  if (facts.nodes > 1)
    crossings = what.function == Function::kAllReduce ? 2 * turns : facts.nodes - 1;
  return static_cast<float>(ring_steps(what.function, facts.ranks) - crossings) * steps.intra +
         static_cast<float>(crossings) * steps.inter;
}

}  // namespace

NcclTime method_latency(const TuningFacts& facts, const Combination& what) {
  const float base = of(facts.constants.base_latency, what.algorithm, what.protocol);
  const Steps steps = steps_of(facts, what);
  const auto peers = static_cast<float>(facts.whole_ranks_per_node - 1);
  const auto height = static_cast<float>(log2_floor(facts.nodes));
  switch (what.algorithm) {
    case Algorithm::kRing:
      if (what.function == Function::kReduce || what.function == Function::kBroadcast)
        return {one_way_ring(facts, what, base)};
      return {base + ring(facts, what, steps)};
    case Algorithm::kTree:
      return {base + 2 * (peers * steps.intra + height * steps.inter)};
    case Algorithm::kCollNetDirect:
      return {single(
          base +
          2 * (std::min(1.0F, peers) * steps.intra + peers * facts.constants.collnet_per_peer) +
          steps.inter)};
    case Algorithm::kCollNetChain:
      return {base + 2 * peers * steps.intra + steps.inter};
    case Algorithm::kNvls:
      return {steps.intra + (facts.nodes > 1 ? steps.inter : 0)};
    case Algorithm::kNvlsTree:
      return {base + steps.intra + 2 * height * steps.inter};
    case Algorithm::kPat:
      return {single(base + height * (steps.inter / 3.5) + facts.ranks * 2.8)};
  }
  return {};
}

}  // namespace comm_probe::nccl
