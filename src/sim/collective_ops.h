// A collective as the sends and receives of each of its ranks.
#pragma once

#include <functional>
#include <vector>

#include "model/collective.h"
#include "model/program.h"

namespace comm_probe::sim {

// The algorithms that chakra_program.h lists; barrier: no operation.
struct CollectiveOps {
  std::optional<model::Op> op = {};
  core::Bytes input = {};         // of one rank
  std::vector<int> members = {};  // sorted
  std::uint32_t tag = 0;          // of its messages alone
};

// How many operations one rank adds at most.
double operations_of(const CollectiveOps& all);
// Where the operations go: `begin` is told of those that wait for what the collective waits for.
struct CollectiveSink {
  model::Program& program;
  std::function<model::OpId(const model::ProgramOp&)> add;
  std::function<void(model::OpId)> begin;
};
// Those of member `index`; returns the ops that must be over at its end.
std::vector<model::OpId> add_member(const CollectiveOps& all, int index,
                                    const CollectiveSink& sink);

}  // namespace comm_probe::sim
