// Which topology source belongs to which host. Sources of one machine are merged
// (topology/merge.h); those of several are kept apart. A path says the host where a part of it is
// one that the logs know ("node12/lspci.txt", "topo_node12.txt"); else files in different folders
// are of different machines; two sources of one kind in one folder are of two machines.
//
//   node1/topo.txt node1/ibstat.txt node2/topo.txt -> node1 {topo + ibstat}, node2 {topo}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnose.h"
#include "diagnose/job.h"
#include "topology/merge.h"

namespace comm_probe::diagnose {

// A word ends where no letter or digit follows, nor one of the characters `also`.
bool has_word(std::string_view text, std::string_view word, std::string_view also = "");

// The longest of the hosts that a path names as a whole word: "node1" for "a/node1/topo.txt", none
// for "node12.txt".
std::string host_of_path(const std::string& path, const std::vector<std::string>& hosts);

struct JoinedMachines {
  std::vector<JobMachine> machines = {};
  std::vector<core::Caveat> caveats = {};  // sources that make no machine
};
JoinedMachines join_machines(std::vector<topology::Source> sources,
                             const std::vector<std::string>& hosts);

}  // namespace comm_probe::diagnose
