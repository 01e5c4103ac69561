// What NCCL is asked to write down while we measure, and where: its debug log of every rank
// (search, rings, trees, tuning table, and the algorithm, protocol and channels that each call
// takes), the topology that it found, the graphs that it searched. NCCL reads its settings once per
// process, so they are put into the environment before its first call.
//
//   Capture capture = Capture::into("");         // a folder of its own, gone with the last copy
//   capture.set_environment(rank);               // NCCL_DEBUG_FILE=<folder>/rank3.log, ...
//
// Writing a line costs some microseconds of a call. So calls are logged in the pass that checks
// results; ncclResetDebugInit (from 2.24) ends the logging before times are taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

namespace comm_probe::measure::nccl {

class Capture {
 public:
  // Empty: a new folder below $TMPDIR or /tmp, which is removed with the last copy.
  static core::Result<Capture> into(const std::string& folder);

  const std::string& folder() const { return folder_; }
  std::string log_of(int rank) const;
  std::string topology() const { return folder_ + "/topology.xml"; }
  std::string graphs() const { return folder_ + "/graphs.xml"; }
  // Of this process, which speaks for `rank`.
  void set_environment(int rank) const;
  // What to set before ncclResetDebugInit: warnings go to a file of their own.
  void set_quiet_environment(int rank) const;
  // Keeps the folder as long as it lives; null where the user named it.
  std::shared_ptr<const void> owner() const { return owner_; }

 private:
  std::string folder_ = {};
  std::shared_ptr<const void> owner_ = {};
};

}  // namespace comm_probe::measure::nccl
