// The counters of network ports in a pile: texts of perfquery, ethtool -S, rdma statistic, sysfs.
// Two snapshots of a port are judged; one is named, and nothing is concluded from it.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "diagnose/job.h"
#include "topology/net_change.h"

namespace comm_probe::cli {

struct PileCounters {
  std::vector<topology::NetSnapshot> snapshots = {};
  std::vector<std::string> files = {};
  std::vector<core::Caveat> caveats = {};
};
// Of every text among the paths; ports without a host get that of `hosts` which the path names.
PileCounters read_pile_counters(const std::vector<std::string>& paths);

struct NetworkJudgement {
  diagnose::Judgement said = {};
  std::size_t watched_ports = 0;
};
NetworkJudgement judge_pile_counters(PileCounters counters,
                                     const std::vector<diagnose::JobMachine>& machines,
                                     const std::vector<std::string>& hosts);

// What starves communication on the machines that are recorded among the paths (bundles, topo
// record), errors and warnings only, each with the name of the recording.
std::vector<core::Finding> judge_pile_hosts(const std::vector<std::string>& paths);

}  // namespace comm_probe::cli
