// A line of a debug log in its parts (shared spec nccl-7-log, 7.1):
//   [launcher prefix][timestamp ]host:pid:tid [cudaDev] [file:line ]NCCL LEVEL message
// Every part but "NCCL" may be missing: launchers put "[1,12]<stdout>:", "12: " or a time in front,
// people lose the beginning when they copy, processes write into each other's lines.
//
//   "[1,2]<stdout>:node00:29880:30398 [0] init.cc:497 NCCL WARN Duplicate GPU ..." ->
//   launcher rank 2, thread "node00:29880:30398", host "node00", pid 29880, WARN
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace comm_probe::nccl {

enum class LogLevel { kNone, kVersion, kInfo, kWarn, kTrace };

struct LogLine {
  LogLevel level = LogLevel::kNone;  // kNone: no line of NCCL
  std::string_view prefix = {};      // what stands in front of the thread
  std::string_view thread = {};      // "host:pid:tid", "host:pid"; empty where it is missing
  std::string_view host = {};
  std::uint64_t pid = 0;
  std::optional<int> cuda_device = {};
  std::string_view message = {};
  // Another message began in front of this one on the same line, or the line begins in the middle
  // of a prefix.
  bool is_torn = false;
};

LogLine split_log_line(std::string_view line);

// "[1,12]<stdout>:" -> 12, "  3: " -> 3; nothing where the prefix names no rank.
std::optional<int> launcher_rank(std::string_view prefix);
// Seconds of a time in the prefix, "[2026-03-12 14:17:56] " or "2026-03-12T14:17:56.123Z"; counted
// from an arbitrary day, so that differences mean something.
std::optional<double> log_time(std::string_view prefix);

}  // namespace comm_probe::nccl
