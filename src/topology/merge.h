// Several sources of one machine become one: what the first says stays, what it leaves out is taken
// from the next, and where two say different things a caveat (topo.sources-disagree) says so.
#pragma once

#include <string>
#include <vector>

#include "topology/survey.h"

namespace comm_probe::topology {

// What one file, or this machine, says: a survey where it shows pairs or a tree, and facts.
struct Source {
  std::string name = {};
  std::string kind = {};  // "nvidia-smi-topo", "lspci", ...; several in one file: "lspci, ibstat"
  std::optional<Survey> survey = {};
  HostFacts facts = {};
};

// Whatever the input holds, recognised by its content: NCCL XML, saved JSON, the tar of a recorded
// machine, or the output of one or several commands (readers/fact_reader.h, `nvidia-smi topo -m`).
core::Result<Source> read_source(core::Input& input);
core::Result<Source> read_source(const core::Host& host);

// The survey of the best source (a graph before a matrix of words before a list of devices) with
// what the others add. Fails where the facts make no machine.
core::Result<Survey> combine(std::vector<Source> sources);

void merge_facts(HostFacts& known, const HostFacts& more);

// What no source says: "link widths", "P2P status".
std::vector<std::string> not_known(const Survey& survey);

}  // namespace comm_probe::topology
