// A private folder below $TMPDIR (/tmp where it is not set) that goes with the object. A process
// that was forked meanwhile leaves it to the one that made it.
//
//   auto folder = TemporaryFolder::make("comm-probe-nccl");
//   folder->path()      // "/tmp/comm-probe-nccl-x4TR9a"
#pragma once

#include <string>

#include "core/result.h"

namespace comm_probe::core {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(const std::string& name);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path);

  std::string path_;  // empty: moved from
  int maker_;         // the process
};

// Those that live, of this process: for an end that runs no destructor (a signal that is raised
// again).
void remove_temporary_folders();

}  // namespace comm_probe::core
