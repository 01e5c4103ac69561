// Where `topo check --net` takes its counters from: files, folders and recordings.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "topology/net_counters.h"

namespace comm_probe::cli {

// The snapshots of one path: a text, a recorded machine (folder or tar), or every file below a
// folder, which are one snapshot of one or several hosts (told apart by the name of the file where
// they show the same port). No snapshots: nothing there shows counters, and `why` says so.
struct PathCounters {
  topology::NetReading reading = {};
  std::optional<core::Error> why = {};
};
// The machine that a path is a recording of (a folder with sys/, or a tar of one); nothing where it
// is none.
std::optional<core::Host> recorded_host(const std::string& path);
core::Result<PathCounters> load_counters(const std::string& path);

}  // namespace comm_probe::cli
