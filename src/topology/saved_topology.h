// A survey as JSON and back: `topo show --json > m.json`, `topo show --from m.json`. What is read
// again is the same survey: devices, paths, graph, facts; writing it once more gives the same text.
//
//   {"comm_probe": "0.1.0", "command": "topo", "result": {"source": "this machine",
//    "gpus": [...], "nics": [...], "cpus": [...], "paths": [...], "graph": {...}, "facts": {...}}}
//
// Refused, with the place in the document: text that is no JSON, another document, a number out of
// its range, a link to a node that is not there or without its reverse, PCIe links that form a
// circle, more than 4096 devices.
#pragma once

#include "core/input.h"
#include "core/json.h"
#include "topology/survey.h"

namespace comm_probe::topology {

// The `result` of `topo show --json`.
core::Json saved_json(const Survey& survey);
core::Json saved_json(HostFacts facts);

// Takes the whole document or its `result`.
core::Result<Survey> read_saved_topology(core::Input& input);
core::Result<HostFacts> read_saved_facts(const std::string& file, const std::string& text);

}  // namespace comm_probe::topology
