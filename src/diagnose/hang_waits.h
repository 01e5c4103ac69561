// The wait-for graph: every rank waits in its oldest open work, and a work waits for those that
// hold it back. A member holds a collective back when it has not issued it, or has issued it behind
// an older open work of its own. A part of the graph without a way out is a root; a rank that only
// waits is a victim.
//
//   rank 4 waits in tp call 7 for 5; ranks 0, 2, 6 wait in dp call 7 for 4  ->  root {5}
#pragma once

#include <cstddef>
#include <vector>

#include "diagnose/hang_messages.h"
#include "diagnose/hang_state.h"

namespace comm_probe::diagnose {

// A message for which `from` waits and that `to` has not issued, or holds behind something older.
struct MessageWait {
  int from = 0;
  int to = 0;
  bool issued = false;
  const OpenMessage* message = nullptr;
};

struct WaitRoot {
  std::vector<int> ranks = {};  // several: they wait for each other in a circle
  std::vector<CallKey> calls =
      {};  // that hold the circle together; one alone: nobody holds it back
  std::vector<MessageWait> messages = {};  // inside of the circle
  std::vector<MessageWait> owed = {};      // messages for which others wait
  std::size_t waiting = 0;  // ranks that wait for it, directly or not, without its own
};

struct WaitOptions {
  std::vector<int> no_way_out = {};  // ranks whose own waiting explains nothing
  bool follow_missing = false;       // ranks without a dump may hold calls back
};

// Parts without a way out for which somebody waits; the one for which most wait comes first.
std::vector<WaitRoot> find_roots(const HangState& state, const std::vector<OpenMessage>& messages,
                                 const WaitOptions& options);

// Members that hold the call back, by rank.
std::vector<int> holders_of(const HangState& state, const CallView& call, bool follow_missing);

}  // namespace comm_probe::diagnose
