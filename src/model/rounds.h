// What an algorithm that goes round by round tells whoever plays it: the recurrence, which moves
// its clocks at once, or a list of rounds for flows that share links (round_schedule.h).
#pragma once

#include <span>

#include "core/quantity.h"

namespace comm_probe::model {

// Every rank of a block of `block` ranks sends to the one `distance` after it in its block, around.
// block = all ranks: a ring over all; the number of ranks must be a multiple of it.
struct Shift {
  int distance = 1;
  int block = 1;
  bool operator==(const Shift&) const = default;
};

class Rounds {
 public:
  struct Message {
    int from = 0;
    int to = 0;
    core::Bytes bytes = {};
    bool operator==(const Message&) const = default;
  };
  Rounds() = default;
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  virtual ~Rounds() = default;

  // One round each.
  void shift(const Shift& shape, core::Bytes bytes) { shift_at_once({&shape, 1}, bytes); }
  // Several shifts that do not wait for each other: the ports alone put them in order.
  virtual void shift_at_once(std::span<const Shift> shapes, core::Bytes bytes) = 0;
  // Ranks r and r ^ mask exchange, where both are below `below`.
  virtual void exchange(int mask, int below, core::Bytes bytes) = 0;
  virtual void messages(std::span<const Message> all) = 0;
};

}  // namespace comm_probe::model
