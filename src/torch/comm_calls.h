// The communication kernels of a job, rank beside rank: what matching across ranks works on. Filled
// from traces (comm_job_of) or from NCCL Inspector logs (readers/inspector.h).
//
// All times are whole nanoseconds. Calls of one rank are in the order in which its host launched
// them, because that is the order that all members of a group share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "torch/trace_words.h"

namespace comm_probe::torch {

// One set of ranks that communicates, whatever it is called on each of them.
struct CommGroup {
  std::vector<int> ranks = {};  // sorted; empty where the trace does not record it
  int size = 0;                 // 0: not recorded
  std::string name = {};        // on the first rank that has it
  std::string description = {};
};

struct CommCall {
  std::int64_t start = 0;  // on the clock of its rank
  std::int64_t end = 0;
  std::optional<std::int64_t> launch = {};
  int group = 0;   // in CommJob::groups
  int stream = 0;  // as the rank numbers it
  int kernel = 0;  // in CommJob::kernels
  CollectiveClass kind = CollectiveClass::kUnknown;
  std::optional<std::uint64_t> seq = {};
  std::optional<std::uint64_t> comms_id = {};
  std::optional<std::uint64_t> bytes = {};  // S of spec 2.6: the message, or the total over ranks
  int dtype = -1;                           // in CommJob::dtypes
  std::int64_t step = -1;                   // N of ProfilerStep#N
  std::uint32_t operation = 0;              // in the rank's trace

  std::int64_t duration() const { return end - start; }
};

struct RankCalls {
  int rank = 0;
  std::vector<CommCall> calls = {};
};

struct CommJob {
  std::vector<CommGroup> groups = {};
  std::vector<std::string> kernels = {};  // without arguments and template parameters
  std::vector<std::string> dtypes = {};
  std::vector<RankCalls> ranks = {};  // sorted by rank
  std::int64_t grid = 1;              // of the time stamps, ns
  int world = 0;                      // 0: not recorded
  bool has_clock = true;              // false: only durations are known (NCCL Inspector)
  bool seq_by_kind = false;           // each kind of collective is counted apart
};

struct Trace;

// From traces whose ranks are known and differ. A kernel without metadata belongs to the group of
// its stream, where all others of the stream name one; else to a group without recorded members,
// taken to be as large as the job.
CommJob comm_job_of(const std::vector<const Trace*>& traces);

}  // namespace comm_probe::torch
