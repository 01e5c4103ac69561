// What a file of a pile is, by its first bytes.
#pragma once

#include <string>

#include "core/input.h"
#include "core/result.h"

namespace comm_probe::cli {

enum class PileKind {
  kDump,     // Flight Recorder
  kTrace,    // torch.profiler, Nsight, NCCL Inspector
  kReport,   // what ncclras prints
  kMachine,  // NCCL's topology XML, the tar of a recorded machine
  kJson,     // other JSON: a saved topology, what a benchmark wrote
  kGraphs,   // what NCCL's search found (NCCL_GRAPH_DUMP_FILE): named, the log says the same
  kPacked,   // zip, xz, bzip2: what is in it is not read: a stored one would pass for a log
  kText,     // lines: a log, a table, the output of a command
  kOther,    // nothing that is read here
};
PileKind kind_of(core::Input& input);
// Of a kPacked: "packed with xz (xz -d unpacks it), expected what is in it".
core::Error packed_error(const std::string& path);

}  // namespace comm_probe::cli
