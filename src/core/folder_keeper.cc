#include "core/folder_keeper.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace comm_probe::core {
namespace {

// Holds nothing of the parent's: a pipe to `head` must end with the parent.
void close_all_but(int kept) {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (standard != kept) ::dup2(nothing, standard);
  constexpr int kMost = 4096;
  for (int descriptor = STDERR_FILENO + 1; descriptor < kMost; ++descriptor)
    if (descriptor != kept) ::close(descriptor);
}

// Only calls that are safe in a child of a process of any kind.
[[noreturn]] void wait_and_remove(int parent_is_alive, const char* path) {
  ::setsid();  // Ctrl-C is for the parent
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  close_all_but(parent_is_alive);
  char byte = 0;
  while (::read(parent_is_alive, &byte, 1) < 0 && errno == EINTR) continue;
  ::execl("/bin/rm", "rm", "-rf", "--", path, static_cast<char*>(nullptr));
  ::_exit(1);
}

}  // namespace

FolderKeeper::FolderKeeper(const std::string& path) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  keeper_ = ::fork();
  if (keeper_ == 0) {
    ::close(ends[1]);
    wait_and_remove(ends[0], path.c_str());
  }
  ::close(ends[0]);
  if (keeper_ < 0)
    ::close(ends[1]);
  else
    alive_ = ends[1];
}

FolderKeeper::~FolderKeeper() {
  if (alive_ < 0) return;
  ::close(alive_);
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace comm_probe::core
