// The parts of the tuning model: bandwidth, latency and refusal of one combination. See tuning.h.
#pragma once

#include "nccl/tuning.h"

namespace comm_probe::nccl {

// Facts that every formula needs.
struct TuningFacts {
  TuningFacts(const TuningJob& job, const TuningConstants& constants);

  const TuningJob& job;
  const TuningConstants& constants;
  const Agreement& agreement;
  int ranks;
  int nodes;
  float ranks_per_node;
  int whole_ranks_per_node;  // integer quotient
  std::size_t by_nodes;      // column of the tables: one node, two, more
  Generation generation;

  const ByNodes& of_generation(const ByGeneration& table) const {
    return table[index_of(generation)];
  }
};

struct Combination {
  Function function;
  Algorithm algorithm;
  Protocol protocol;

  bool is(Algorithm a, Protocol p) const { return algorithm == a && protocol == p; }
};

// Steps of a ring.
int ring_steps(Function function, int ranks);

// Whether NCCL has a formula for it at all.
bool is_offered(const TuningFacts& facts, const Combination& combination);
topology::NcclRate method_bandwidth(const TuningFacts& facts, const Combination& combination);
// The latency of a method as what it is made of: what every call costs, steps inside a node and
// between nodes.
struct LatencyParts {
  struct Part {
    float steps = 0;
    float step_us = 0;
    float us() const { return steps * step_us; }
  };
  // In which NCCL adds them up.
  enum class Order { kStepsFirst, kInTurn, kExtraInside, kExtraLast };

  float base = 0;  // us
  Part inside = {};
  Part between = {};
  double between_us = 0;  // of a step, where NCCL counts it as a double (kExtraLast)
  double extra_us = 0;
  const char* extra_name = "";
  Order order = Order::kStepsFirst;

  NcclTime total() const;
};
LatencyParts latency_parts(const TuningFacts& facts, const Combination& combination);
Refusal method_refusal(const TuningFacts& facts, const Combination& combination);

}  // namespace comm_probe::nccl
