// What the counters of network ports and the recorded machines of a pile say. Two snapshots of a
// port are judged; one is named, and nothing is concluded from it.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_pile.h"
#include "diagnose/diagnose.h"
#include "diagnose/job.h"
#include "diagnose/job_hosts.h"

namespace comm_probe::cli {

struct NetworkJudgement {
  diagnose::Judgement said = {};
  std::size_t watched_ports = 0;
};
// Ports without a host get that of `hosts` which the path of their file names. What those of a
// machine that is no host of the job count weighs nothing.
NetworkJudgement judge_pile_counters(topology::NetReading counters,
                                     const std::vector<diagnose::JobMachine>& machines,
                                     const diagnose::JobHosts& hosts);

// What starves communication on the recorded machines, errors and warnings only, each with the name
// of the recording.
std::vector<core::Finding> judge_pile_hosts(const std::vector<RecordedState>& hosts);

}  // namespace comm_probe::cli
