// Which of several records of one port was made first? Their times say it where all have one; else
// their names (before/after, t0/t1, 1/2), else the one order in which no counter falls, because
// these counters only rise. Nothing of that: the order is not known, and must not be guessed.
//
//   after.txt (link_downed 3), before.txt (link_downed 0): before.txt, after.txt by their names
//   node07_x.txt (symbol_error 5021), node07_y.txt (symbol_error 0), a log knows node07: y, then x
// Records are of one port of one machine (net_places.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/net_counters.h"

namespace comm_probe::topology {

struct PortRecord {
  std::string_view source = {};  // of its snapshot
  const PortCounters* port = nullptr;
  std::size_t snapshot = 0;  // its place among those given
};

// As they come in one text, or are given: that order counts where there is no time.
enum class GivenOrder { kMeansNothing, kIsOfTime };

// The records of one port from first to last; nothing where it is not known.
std::optional<std::vector<PortRecord>> in_order(std::vector<PortRecord> records, GivenOrder given);

// "before", "after", "first", ...: a word of a name that tells when.
bool is_time_word(std::string_view lower_case);
// -1 where the first name is of an earlier time, 1 of a later one; 0: the names do not say.
int order_of_names(std::string_view one, std::string_view other);

}  // namespace comm_probe::topology
