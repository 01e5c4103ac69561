// What PyTorch, NCCL, ncclras and launchers print about a job that stands still: watchdog
// time-outs, dump signals, errors of communicators, processes that ended. Streaming, one line at a
// time; a line may have any text in front (Ray, SLURM, vLLM).
//
//   "[rank3]:[E1129 12:05:10.6 ProcessGroupNCCL.cpp:689] [Rank 3] Watchdog caught collective
//    operation timeout: WorkNCCL(SeqNum=32, OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192,
//    Timeout(ms)=15000) ran for 15086 milliseconds before timing out."
//   -> kTimeout, rank 3, seq 32, op all_reduce, 8192 elements in and out, limit 15000, ran 15086
//
// `rank` is the global rank: of "[rank3]:", else of the only rank that the file's lines name, else
// of the name of the file; a launcher or a kernel writes about other ranks, there only the line
// itself counts. The rank inside of brackets is that of the group and not used. Patterns and
// versions: spec flight-recorder 3.3 and 7. Python tracebacks in the same text are kept
// beside them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/input.h"

namespace comm_probe::torch {

enum class JobEvent {
  kTimeout,         // the watchdog's, with the work
  kWatchdogStatus,  // last enqueued and completed of one group
  kDumpSignal,      // the same of the first group, on a rank that was asked to dump
  kDumpStarted,     // when a dump was taken: on a time-out, or asked for by the pipe
  kDumpWritten,
  kAsyncError,     // of a communicator
  kHeartbeatLost,  // the watchdog thread itself is stuck
  kGilHeld,
  kStoreWait,     // a communicator's id was never published
  kUnbatchedP2p,  // a two-rank communicator is about to be made
  kException,     // the last line of a Python traceback: the program's own error
  kTerminating,   // PyTorch ends the process after a dump
  kEndedNormally,
  kDesyncLagging,   // TORCH_NCCL_DESYNC_DEBUG: ranks that did not join
  kFingerprint,     // TORCH_DISTRIBUTED_DEBUG=DETAIL: two ranks differ
  kNcclCompletion,  // a work completion with an error status: 12, 5, 13, ...
  kNcclConnection,  // a peer closed its connection, a call to recv failed
  kXid,
  kProcessDied,  // exit code or signal, from a launcher
  kOutOfMemory,  // the kernel's OOM killer, or a CUDA out of memory
  kGlooTimeout,
  kRasDead,      // ncclras: a process that does not answer
  kRasMismatch,  // ncclras: operation counts differ
};
const char* job_event_name(JobEvent event);
// Something went wrong; false for what a job without a fault prints too.
bool is_trouble(JobEvent event);

struct JobLine {
  JobEvent event = JobEvent::kTimeout;
  std::optional<int> rank = {};  // global
  std::optional<int> peer = {};  // kFingerprint: the other rank; kDesyncLagging: one of the ranks
  std::vector<int> ranks = {};   // that the line lists
  std::optional<int> local_rank = {};  // a launcher's, of one host
  std::string host = {};               // that a launcher names, or the peer of a completion error
  // kException: its words; kFingerprint: the arguments; kRasMismatch: the counts;
  // kNcclCompletion: the adapter
  std::string what = {};
  std::string other_what = {};  // kFingerprint
  std::string group = {};       // name of the group, where the line tells it
  std::string op = {};          // in the words of a dump: "all_reduce"
  std::string other_op = {};    // kFingerprint
  std::optional<std::int64_t> seq = {};
  std::optional<std::int64_t> elements_in = {};
  std::optional<std::int64_t> elements_out = {};
  std::optional<std::int64_t> limit_ms = {};
  std::optional<std::int64_t> ran_ms = {};
  std::optional<std::int64_t> enqueued = {};
  std::optional<std::int64_t> completed = {};
  std::optional<std::int64_t> code = {};  // exit code, negative: a signal; completion status
  std::optional<double> clock_s = {};     // of the line, seconds since the beginning of its year
  std::string file = {};
  std::uint64_t line = 0;
  std::string text = {};  // the line, shortened
};

// A Python traceback: where it was raised last, and its last line.
struct RaisedException {
  std::optional<int> rank = {};  // global
  std::string type = {};         // "RuntimeError"
  std::string message = {};      // "loader failed", shortened
  std::string raised_at = {};    // "train.py:34", of the innermost frame
  std::string file = {};
  std::uint64_t line = 0;  // of `text`
  std::string text = {};
};

struct JobLines {
  std::vector<JobLine> lines = {};
  std::vector<RaisedException> exceptions = {};
  std::map<int, std::string> logs = {};  // rank -> a log of it
  std::uint64_t lines_read = 0;

  std::vector<const JobLine*> of(JobEvent event) const;
  const JobLine* first(JobEvent event, std::optional<int> rank = {}) const;
  // Any line of trouble.
  bool tell_of_trouble() const;
};

// Line by line, for who reads the same text for something else too.
class JobLineReader {
 public:
  explicit JobLineReader(JobLines lines = {});
  JobLineReader(const JobLineReader&) = delete;
  JobLineReader& operator=(const JobLineReader&) = delete;
  ~JobLineReader();
  void begin_file(const std::string& name);
  void add(const core::Line& line);
  // Lines and exceptions that were found so far.
  std::size_t found() const { return lines_.lines.size() + lines_.exceptions.size(); }
  JobLines finish();

 private:
  class Parser;
  JobLines lines_ = {};
  std::unique_ptr<Parser> parser_;
};

// Adds what a text says; a text that says nothing adds no line but counts as a log. An error is of
// the input (packed data that is cut): the lines before it were added.
std::optional<core::Error> read_job_lines(core::Input& input, JobLines& lines);

}  // namespace comm_probe::torch
