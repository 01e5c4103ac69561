// Logs of NCCL's Inspector plugin (plugins/profiler/inspector): one JSON object per collective,
// rank and line, or pretty-printed. Execution time is that of the longest channel, waiting
// included, so the rank with the shortest time came last.
//
//   {"header":{"id":"0xe62d..","rank":2,"n_ranks":4},...,"coll_perf":{"coll":"AllReduce",
//    "coll_sn":1,"coll_msg_size_bytes":26214400,"coll_exec_time_us":260,...}}
//   -> all_reduce no. 1 of communicator 0xe62d.. on its rank 2, 26214400 B, 260 us
//
// Missing keys are passed over (versions of the plugin differ); a last line that was cut is told.
#pragma once

#include <string_view>
#include <vector>

#include "core/finding.h"
#include "core/input.h"
#include "torch/comm_calls.h"

namespace comm_probe::torch {

struct InspectorRecord {
  std::string communicator = {};  // header.id
  std::string name = {};          // header.comm_name
  int rank = 0;                   // in the communicator
  int ranks = 0;
  CollectiveClass kind = CollectiveClass::kUnknown;
  std::string operation = {};  // "AllReduce"
  std::uint64_t number = 0;    // of this kind in the communicator
  std::uint64_t bytes = 0;     // as written: of one rank for AllGather and ReduceScatter
  std::int64_t time = 0;       // ns
  bool by_gpu = true;          // timed by the GPU's own clock
};

struct InspectorLog {
  std::string file = {};
  std::string host = {};
  std::int64_t process = 0;
  std::vector<InspectorRecord> records = {};
  std::vector<core::Caveat> caveats = {};
};

bool looks_like_inspector(std::string_view head);
// Fails where not a single record could be read.
core::Result<InspectorLog> read_inspector(core::Input& input);

// Processes are numbered by their rank in the largest communicator that they are in.
struct InspectorJob {
  CommJob job = {};
  std::vector<core::Caveat> caveats = {};
};
InspectorJob comm_job_of(const std::vector<InspectorLog>& logs);

}  // namespace comm_probe::torch
