// What differs between machines that should be alike. With two, the second is compared with the
// first; with more, every statement that most machines make is the rule, and the machines that say
// otherwise are the odd ones out. One change gives one difference: a pair's word that follows from
// a device that moved is told with that device, and a link that is narrower for all its pairs is
// told once.
//
//   8 machines, in one of them GPU3 hangs on the other socket
//     -> {machine 5, "GPU3", changes {NUMA node: 1, elsewhere 0; path to mlx5_3: SYS, PIX; ...}}
#pragma once

#include <string>
#include <vector>

#include "topology/profile.h"

namespace comm_probe::topology {

struct Change {
  Aspect aspect = Aspect::kExists;
  std::string other = {};      // of a path
  std::string here = {};       // empty: the device is missing here
  std::string elsewhere = {};  // empty: the device is missing elsewhere
  int agreeing = 0;            // machines that say `elsewhere`
  int asked = 0;               // machines that say anything
};

struct Difference {
  int machine = 0;
  std::string device = {};
  std::string kind = {};  // "GPU" | "NIC" | "CPU", empty for a switch
  std::vector<Change> changes = {};
};

// What no majority agrees on: the machines by what they say; empty text: they lack the device.
struct Split {
  Statement statement = {};
  std::map<std::string, std::vector<int>> machines = {};
};

struct Comparison {
  std::vector<Difference> differences = {};
  std::vector<Split> splits = {};
  // Machines whose devices are the same but named or numbered otherwise; their differences are
  // those of names.
  std::vector<int> reordered = {};
};

// At least two profiles.
Comparison compare(const std::vector<Profile>& profiles);

}  // namespace comm_probe::topology
