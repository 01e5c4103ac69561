// LogProblem: a warning or error line of NCCL's debug output by its family. The families and the
// words that give them away are the table of log_problem.cc (shared spec nccl-7-log, 7.6 and 7.7).
//
// Role says what a line is worth in the search for the cause: the first kCause before a chain of
// "-> code" lines is the cause; kFollowUp lines only say that something else failed before;
// kHarmless lines occur in healthy jobs.
//
//   "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60" -> kDuplicateGpu, a cause
//   "socketProgress: Connection closed by remote peer node1<41109>"     -> kPeerClosed, a follow-up
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::nccl {

// Where a line stands; `file` is an index into DebugLog::files, `line` counts from 1.
struct LogPlace {
  int file = -1;
  std::uint64_t line = 0;
  std::string text = {};  // the line, at most 300 bytes
};

enum class LogRole { kCause, kFollowUp, kHarmless };

enum class LogFamily {
  kIbCompletion,
  kIbAsyncEvent,
  kIbAsyncFatal,
  kModifyQp,
  kRegisterMemory,
  kCreateQueue,
  kOpenDevice,
  kIncompatibleNics,
  kMessageTruncated,
  kVersionMismatch,
  kDuplicateGpu,
  kDuplicateRank,
  kConnectFailed,
  kAddressFamily,
  kStrayConnection,
  kPeerClosed,
  kProxyFailed,
  kTeardown,
  kShmFull,
  kShmFailed,
  kCudaMemory,
  kCudaArch,
  kCudaNvls,
  kFabricManager,
  kCudaError,
  kNvlinkP2pOff,
  kNvlsBind,
  kImex,
  kNoAlgorithm,
  kUnknownMethod,
  kRingBroken,
  kNoTransport,
  kNoNicPath,
  kTopologyFile,
  kSelfSend,
  kInvalidUsage,
  kAborted,
  kMaxSharedMemory,
  kCuMemHost,
  kNoInterface,
  kTestFailure,  // nccl-tests: "Test NCCL failure ... 'remote process exited ...'"
  kOfiProvider,  // not a warning: which libfabric provider was selected
  kOfiNoGdr,
  kPluginMissing,
  kPluginFailed,
  kNoVerbs,  // healthy without RDMA NICs
  kPciUnknownSpeed,
  kPciNoSpeed,
  kSearchFallback,
  kMnnvlState,
  kHarmless,
  kOther,
};

struct LogProblem {
  LogFamily family = LogFamily::kOther;
  LogRole role = LogRole::kCause;
  // Equal keys of a family are one problem: "12" of a completion, the text of an unknown warning.
  std::string key = {};
  std::uint64_t count = 0;
  std::vector<int> processes = {};  // that print it, at most kMostProcesses, each once
  std::uint64_t process_count = 0;
  LogPlace first = {};
  // Seconds of the earliest line that has a time; problems of several files are ordered by it.
  std::optional<double> time = {};
  // What the lines name, with counts: "hca mlx5_3", "peer 192.0.2.5", "rank 4".
  std::map<std::string, std::uint64_t> named = {};
  std::map<std::string, std::string> fields = {};  // of the first line: "status", "local", "size"

  static constexpr std::size_t kMostProcesses = 4096;
  static constexpr std::size_t kMostNamed = 1024;
};

// One row of the table of families: the line holds all of `words`, in this order.
struct LogPattern {
  LogFamily family;
  LogRole role;
  std::string_view words[2];
};
// Of a WARN line (of an INFO line: the few that tell of trouble); nothing where no row fits.
const LogPattern* match_log_warning(std::string_view message);
const LogPattern* match_log_notice(std::string_view message);

}  // namespace comm_probe::nccl
