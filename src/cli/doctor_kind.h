// What a file of a pile is, by its first bytes.
#pragma once

#include "core/input.h"

namespace comm_probe::cli {

enum class PileKind {
  kDump,     // Flight Recorder
  kTrace,    // torch.profiler, Nsight, NCCL Inspector
  kReport,   // what ncclras prints
  kMachine,  // NCCL's topology XML, the tar of a recorded machine
  kJson,     // other JSON: a saved topology, what a benchmark wrote
  kGraphs,   // what NCCL's search found (NCCL_GRAPH_DUMP_FILE): named, the log says the same
  kZip,      // its members are not read: a stored one would pass for a log
  kText,     // lines: a log, a table, the output of a command
  kOther,    // nothing that is read here
};
PileKind kind_of(core::Input& input);

}  // namespace comm_probe::cli
