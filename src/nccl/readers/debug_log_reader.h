// DebugLogReader: NCCL's debug output, line by line, into DebugLog. Streams: nothing of a line is
// kept that another line said already. Lines that are not NCCL's are passed over, but for the
// device list of nccl-tests, its failure lines, and GID rows of ibv_devinfo. Interleaved, cut and
// broken lines cost the message that they break, never the file.
//
//   DebugLogReader reader;
//   reader.begin_file("rank0.log");
//   while (lines.next(line)) reader.add(line);
//   const DebugLog log = reader.finish();
#pragma once

#include <memory>

#include "core/input.h"
#include "nccl/debug_log.h"

namespace comm_probe::nccl {

class LogBuilder;

class DebugLogReader {
 public:
  DebugLogReader();
  DebugLogReader(DebugLogReader&&) noexcept;
  ~DebugLogReader();

  // The lines that follow stand in this file.
  void begin_file(const std::string& name);
  // False: it is no line of NCCL.
  bool add(const core::Line& line);
  DebugLog finish();

 private:
  std::unique_ptr<LogBuilder> builder_;
};

// One input from its first to its last line; fails where it cannot be read to the end.
core::Result<DebugLog> read_debug_log(core::Input& input);

}  // namespace comm_probe::nccl
