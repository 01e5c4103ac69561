#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "core/host.h"

extern char** environ;

namespace comm_probe::core {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLongest(20);
constexpr std::size_t kMost = 8 << 20;

// Starts the command with its output into `write_end`; -1 where it does not start.
pid_t start(const std::vector<std::string>& command, int write_end) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

// Until the output ends; false where it takes too long or is too much.
bool read_all(int read_end, std::string& text) {
  const auto deadline = Clock::now() + kLongest;
  std::array<char, 65536> block = {};
  while (text.size() < kMost) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting = {read_end, POLLIN, 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return false;
    const ssize_t got = ::read(read_end, block.data(), block.size());
    if (got <= 0) return got == 0;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return false;
}

std::optional<std::string> run(const std::vector<std::string>& command) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = start(command, ends[1]);
  ::close(ends[1]);
  std::string text;
  const bool is_whole = child > 0 && read_all(ends[0], text);
  ::close(ends[0]);
  if (child <= 0) return std::nullopt;
  if (!is_whole) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!is_whole || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace

std::string Host::output_path(const std::vector<std::string>& command) {
  std::string name;
  for (const std::string& word : command) name += (name.empty() ? "" : "_") + word;
  return "/commands/" + name + ".txt";
}

std::optional<std::string> Host::output(const std::vector<std::string>& command) const {
  if (command.empty()) return std::nullopt;
  if (archive_) return archive_->read(output_path(command));
  if (!is_real()) return read(output_path(command));
  return run(command);
}

}  // namespace comm_probe::core
