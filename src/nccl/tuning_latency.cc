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

// Steps of a ring that only goes one way: Broadcast and Reduce.
LatencyParts one_way_ring(const TuningFacts& facts, const Combination& what) {
  const Wire wire = facts.nodes == 1 ? inner_wire(facts, Algorithm::kRing) : Wire::kNet;
  const bool same = facts.agreement.ring.same_channels;
  const bool as_tree = !same && what.protocol == Protocol::kSimple;
  const float step =
      hw_latency(facts, wire, as_tree ? Algorithm::kTree : Algorithm::kRing, what.protocol);
  const float steps = same ? 1.0F : static_cast<float>(ring_steps(what.function, facts.ranks));
  LatencyParts parts;
  (wire == Wire::kNet ? parts.between : parts.inside) = {steps, step};
  return parts;
}

LatencyParts ring(const TuningFacts& facts, const Combination& what, Steps steps) {
  float overhead = facts.nodes > 1 ? net_overhead(facts) : 0;
  if (what.protocol == Protocol::kSimple) overhead *= 3;
  steps.intra = std::max(steps.intra, overhead);
  const int turns = facts.constants.ring_net_steps_count_turns ? facts.nodes - 1 : facts.nodes;
  int crossings = 0;
  if (facts.nodes > 1)
    crossings = what.function == Function::kAllReduce ? 2 * turns : facts.nodes - 1;
  LatencyParts parts;
  parts.inside = {static_cast<float>(ring_steps(what.function, facts.ranks) - crossings),
                  steps.intra};
  parts.between = {static_cast<float>(crossings), steps.inter};
  return parts;
}

}  // namespace

// NCCL adds 32-bit floats, except where a literal makes it a double; each sum keeps its order, so
// that equal candidates stay equal.
NcclTime LatencyParts::total() const {
  switch (order) {
    case Order::kStepsFirst:
      return {base + (inside.us() + between.us())};
    case Order::kInTurn:
      return {base + inside.us() + between.us()};
    case Order::kExtraInside:
      return {single(base + (inside.us() + extra_us) + between.us())};
    case Order::kExtraLast:
      return {single(base + between.steps * between_us + extra_us)};
  }
  return {};
}

LatencyParts latency_parts(const TuningFacts& facts, const Combination& what) {
  using Order = LatencyParts::Order;
  const Steps steps = steps_of(facts, what);
  const auto peers = static_cast<float>(facts.whole_ranks_per_node - 1);
  const auto height = static_cast<float>(log2_floor(facts.nodes));
  LatencyParts parts;
  switch (what.algorithm) {
    case Algorithm::kRing:
      parts = what.function == Function::kReduce || what.function == Function::kBroadcast
                  ? one_way_ring(facts, what)
                  : ring(facts, what, steps);
      break;
    case Algorithm::kTree:
      parts.inside = {2 * peers, steps.intra};
      parts.between = {2 * height, steps.inter};
      break;
    case Algorithm::kCollNetDirect:
      parts.order = Order::kExtraInside;
      parts.inside = {2 * std::min(1.0F, peers), steps.intra};
      parts.between = {1, steps.inter};
      parts.extra_us = 2 * (peers * facts.constants.collnet_per_peer);
      parts.extra_name = "gathering from the peers of the node";
      break;
    case Algorithm::kCollNetChain:
      parts.order = Order::kInTurn;
      parts.inside = {2 * peers, steps.intra};
      parts.between = {1, steps.inter};
      break;
    case Algorithm::kNvls:
      parts.order = Order::kInTurn;
      parts.inside = {1, steps.intra};
      parts.between = {facts.nodes > 1 ? 1.0F : 0.0F, steps.inter};
      return parts;  // without a base
    case Algorithm::kNvlsTree:
      parts.order = Order::kInTurn;
      parts.inside = {1, steps.intra};
      parts.between = {2 * height, steps.inter};
      break;
    case Algorithm::kPat:
      parts.order = Order::kExtraLast;
      parts.between = {height, single(steps.inter / 3.5)};
      parts.between_us = steps.inter / 3.5;
      parts.extra_us = facts.ranks * 2.8;
      parts.extra_name = "2.8 us for every rank";
      break;
  }
  parts.base = of(facts.constants.base_latency, what.algorithm, what.protocol);
  return parts;
}

}  // namespace comm_probe::nccl
