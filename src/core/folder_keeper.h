// Removes a folder when this process is gone, however it goes: a small process waits for that (for
// the end of a pipe) and runs `rm -rf`. For folders that hold what must not stay (bundles of a
// customer): a TemporaryFolder alone stays behind where a signal ends the program.
//
//   FolderKeeper keeper(folder.path());
//   comm-probe doctor node7.tar.zst | head -1     SIGPIPE; the folder goes all the same
#pragma once

#include <sys/types.h>

#include <string>

namespace comm_probe::core {

class FolderKeeper {
 public:
  // Before the program starts threads: it forks.
  explicit FolderKeeper(const std::string& path);
  ~FolderKeeper();  // after the folder was removed
  FolderKeeper(const FolderKeeper&) = delete;
  FolderKeeper& operator=(const FolderKeeper&) = delete;

 private:
  int alive_ = -1;  // the end of the pipe that closes with this process
  pid_t keeper_ = -1;
};

}  // namespace comm_probe::core
