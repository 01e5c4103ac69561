// Which bytes go from which rank to which in every stage of a routed all_to_all. All ranks know the
// routing and work it out alike; what a record holds is told by the record.
//   flat    dispatch: rank -> rank of the expert; combine: back
//   dedup   dispatch: rank -> rank of its index on the node, that -> ranks of the experts there;
//           combine: both back
// A record is a header of 16 bytes (token, source, one pick), 8 more for every further pick that it
// has room for, and the values; combine has no picks but a mask of those that were added up.
//
// Worked example (tests/unit/measure/routed_test.cc): 2 nodes of 2 ranks, token of rank 0 that
// picks experts of ranks 2 and 3: flat 2 records over the NIC; dedup 1, then from rank 2 to itself
// and to rank 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/moe/routing.h"

namespace comm_probe::measure {

struct RoutedShape {
  int ranks = 2;
  int ranks_per_node = 1;
  std::size_t dispatch_bytes = 0;  // values of one token
  std::size_t combine_bytes = 0;   // answers, two bytes each
  int nodes() const { return ranks / ranks_per_node; }
  int node_of(int rank) const { return rank / ranks_per_node; }
  // The rank on `node` that has the index of `rank` on its own.
  int gate(int node, int rank) const { return node * ranks_per_node + rank % ranks_per_node; }
};

struct Pick {
  std::uint16_t expert;
  std::uint16_t weight;
  std::uint16_t slot;
  std::uint16_t unused;
};
struct TokenHeader {
  std::uint32_t token;
  std::uint16_t source;
  std::uint16_t picks;  // in dispatch
  union {
    Pick first;
    std::uint64_t mask;  // of the slots that were added up, in combine
  };
};
static_assert(sizeof(TokenHeader) == 16);

// Bytes of a record, a multiple of 16.
std::size_t dispatch_record(const RoutedShape& shape, int picks);
std::size_t combine_record(const RoutedShape& shape);

struct StageBytes {
  int ranks = 0;
  std::vector<std::uint64_t> bytes = {};  // by sender, then receiver
  std::uint64_t at(int from, int to) const {
    return bytes[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
                 static_cast<std::size_t>(to)];
  }
  std::uint64_t sent_by(int rank) const;
  std::uint64_t received_by(int rank) const;
  // Where in a rank's buffer the part of another begins.
  std::uint64_t send_offset(int from, int to) const;
  std::uint64_t receive_offset(int from, int to) const;
  std::uint64_t all() const;
  // Of the rank that sends or receives most to or from other nodes.
  std::uint64_t most_between_nodes(const RoutedShape& shape) const;
};

struct RoutedStages {
  model::MoeScheme scheme = model::MoeScheme::kFlat;
  std::size_t record = 0;  // of dispatch
  std::vector<StageBytes> dispatch = {};
  std::vector<StageBytes> combine = {};
};
// `scheme` is flat or dedup. The experts are placed in equal shares.
RoutedStages stages_of(const model::Routing& routing, const RoutedShape& shape,
                       model::MoeScheme scheme);

// The tokens that a rank has: first and one behind the last.
std::pair<std::int64_t, std::int64_t> tokens_of(const model::Routing& routing,
                                                const RoutedShape& shape, int rank);

}  // namespace comm_probe::measure
