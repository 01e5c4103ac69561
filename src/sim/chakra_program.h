// The traces of all ranks as one schedule: compute nodes take a processor, messages are messages,
// and a collective is spelled out as the messages of its algorithm among the ranks of its group:
//
//   all_reduce, all_gather, reduce_scatter   around a ring
//   all_to_all                               direct, one partner after the other
//   broadcast, reduce                        along a chain, in chunks; from or to the first rank
//   barrier                                  ceil(log2 n) rounds without bytes
//
// A trace names the group of a collective (pg_name), not its members: they are the ranks whose
// traces have it; no name: all ranks. The k-th collective of a group is the same on all of them.
// comm_size is what one rank puts in.
#pragma once

#include <span>

#include "sim/readers/chakra.h"
#include "sim/readers/goal.h"

namespace comm_probe::sim {

struct ChakraProgram {
  ProgramFile file = {};
  std::size_t collectives = 0;
  std::size_t without_duration = 0;  // compute nodes; they take no time
  std::size_t dangling = 0;          // dependencies on nodes that are in no trace
};

// Fails where the ranks are not 0 to n-1, where a collective differs between its ranks or is none
// of the above, where nodes wait for each other in a circle, and on more than kMostOps operations.
core::Result<ChakraProgram> program_of(std::span<const ChakraTrace> traces);

}  // namespace comm_probe::sim
