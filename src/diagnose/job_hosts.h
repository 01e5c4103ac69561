// Which hosts do the artifacts name, and which machines of the pile are of them? Logs name the
// hosts of their ranks, tables those of their devices. Once all hosts are known, a machine that is
// none of them is a stranger: its state explains nothing of the job and sets no expectation.
//
//   log: ranks of node01 and node02, 16 of 16 seen; folders node01, node02, node03
//   -> node03 is a stranger. Of 32 ranks 16 seen: whether node03 is of the job is open.
//
// Hosts are joined by a communicator or a table that holds both; only joined machines, or machines
// of one kind (as many GPUs of one model, as many NICs, but for a few that are missing), are
// compared with each other.
#pragma once

#include <string>
#include <vector>

#include "curve/curve.h"
#include "diagnose/job.h"
#include "diagnose/log.h"

namespace comm_probe::diagnose {

struct JobHosts {
  std::vector<std::string> names = {};
  std::vector<int> groups = {};  // of each name: equal where joined, -1 where nothing says it
  bool are_all_known = false;
};
JobHosts hosts_of(const std::vector<const nccl::DebugLog*>& logs,
                  const std::vector<const curve::Curve*>& tables);

// Those that something joins.
HostGroups joined_hosts(const JobHosts& hosts);

// All hosts are known, the name is built like theirs and is none of them: "node03" beside node01
// and node02.
bool is_stranger(const JobHosts& hosts, const std::string& name);

// Sets membership and group of each machine.
void place_machines(const JobHosts& hosts, std::vector<JobMachine>& machines);

// Those that are compared with each other: of one kind of source, and joined or of one kind. Sets
// of one machine are among them.
std::vector<std::vector<const JobMachine*>> comparable_machines(
    const std::vector<JobMachine>& machines);

// A finding of a machine that is no host of the job says so and weighs nothing; one of a port of a
// machine that need not be one of it is a possibility.
void weigh_membership(const JobMachine& machine, core::Finding& finding);

}  // namespace comm_probe::diagnose
