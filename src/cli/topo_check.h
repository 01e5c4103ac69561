// `topo check`: what is wrong with a machine, and with --net what its network did.
#pragma once

#include <string>
#include <vector>

#include "cli/shell.h"
#include "topology/host_state.h"
#include "topology/survey.h"

namespace comm_probe::cli {

struct CheckOptions {
  std::vector<std::string> from = {};
  int nodes = 2;
  bool wants_net = false;
  core::Duration watch = {};  // zero: one snapshot
};

// The document of a survey with its inputs and caveats, before anything is judged.
core::Document topo_document(const topology::Survey& survey);
// Findings, caveats, result and body of the rules on a topology; the verdict of them.
void add_topology_check(const topology::Survey& survey, int nodes, core::Document& document);

// The same of what starves communication on a host: `state` of now, and of before where it is
// known.
void add_host_check(const topology::HostState& state, const topology::HostState* before,
                    core::Document& document);

int check_topology(const Shell& shell, const CheckOptions& options);
// The same with the counters of network ports, two snapshots of them where there are.
int check_network(const Shell& shell, const CheckOptions& options);

}  // namespace comm_probe::cli
