// Sends and receives: message k of an ordered pair of ranks is the k-th send of the one and the
// k-th receive of the other (batched and single ones apart, spec 5.3). `p2p_seq` is no counter of a
// pair and is not compared.
//
//   recv 2<-1 issued 6 times on rank 2, send 1->2 issued 5 times on rank 1: message 6 has no
//   partner
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/hang_state.h"

namespace comm_probe::diagnose {

struct MessageEnd {
  const torch::Message* message = nullptr;  // absent: not issued
  const torch::Work* work = nullptr;
};

// One message that at least one end has open.
struct OpenMessage {
  std::size_t group = 0;
  int from = 0;  // global ranks
  int to = 0;
  std::uint32_t index = 0;  // from 1, as far as the rings show it
  MessageEnd send = {};
  MessageEnd receive = {};
  bool certain = true;      // false: a ring wrapped or only active calls were written
  std::uint32_t sends = 0;  // issued on the pair
  std::uint32_t receives = 0;

  bool is_paired() const { return send.message != nullptr && receive.message != nullptr; }
};

// Ordered by group, pair and index; the partner of a message may have left no dump.
std::vector<OpenMessage> find_open_messages(const HangState& state);
// Both ends exist, and their elements or types differ.
bool sizes_differ(const HangState& state, const OpenMessage& message);

}  // namespace comm_probe::diagnose
