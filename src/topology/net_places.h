// Of which machine are counters that name no host? Two texts that show the same port are of one
// machine where their names differ by time only (before/after, t0/t1, a date); any other
// difference (node01/node02, a/b, 1/2) may as well be that of two machines, and their counters
// are then no change of anything.
//
//   n7/before.txt, n7/after.txt -> one machine; n7/eth.txt, n8/eth.txt -> two, each folder its own
//   10.txt, 11.txt of `ip -s link` with ens1f0 of one address -> one machine
//   a_eth.txt, b_eth.txt -> not known: two machines, or one at two times
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/net_counters.h"

namespace comm_probe::topology {

// A name without its words and numbers of time: equal for those that differ by time only.
// "snap_2.txt" and "snap_1.txt" -> "snap_@.txt"; "node02.txt" stays.
std::string without_time(std::string_view name);

// Two texts that may be of one machine or of two.
struct OpenPlace {
  std::string port = {};
  std::string one = {};
  std::string other = {};
  bool are_two = false;  // their cards have different GUIDs
};

// Of two recordings: no card of the one is a card of the other.
bool have_other_cards(const NetSnapshot& one, const NetSnapshot& other);

// Names the host of ports that have none where texts of several machines show the same port: by
// what tells their names apart. LIDs are of one port only: ports that show theirs need no host.
std::vector<OpenPlace> place_ports(std::vector<NetSnapshot>& snapshots);

}  // namespace comm_probe::topology
