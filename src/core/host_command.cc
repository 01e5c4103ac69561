#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

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

bool has_ended(pid_t child) {
  siginfo_t info = {};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

// Until the output ends, or the command has ended and what it started keeps silent; false where it
// takes too long or is too much.
bool read_all(int read_end, pid_t child, std::string& text) {
  constexpr int kSlice = 200;  // ms
  const auto deadline = Clock::now() + kLongest;
  std::array<char, 65536> block = {};
  while (text.size() < kMost) {
    const bool is_over = has_ended(child);
    pollfd waiting = {read_end, POLLIN, 0};
    const int ready = poll(&waiting, 1, kSlice);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) {
      const ssize_t got = ::read(read_end, block.data(), block.size());
      if (got <= 0) return got == 0;
      text.append(block.data(), static_cast<std::size_t>(got));
    } else if (is_over) {
      return true;
    }
    if (Clock::now() > deadline) return false;
  }
  return false;
}

// The processes of this machine by their parents.
std::multimap<pid_t, pid_t> children_of_all() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator each("/proc", error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (name.empty() || name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream status(each->path() / "stat");
    std::string line;
    std::getline(status, line);
    const std::size_t behind_name = line.rfind(") ");  // "17 (a name) S 4 ..."
    if (behind_name == line.npos || line.size() < behind_name + 5) continue;
    children.emplace(std::atoi(line.c_str() + behind_name + 4), std::atoi(name.c_str()));
  }
  return children;
}

// Those that it started first: orphans are nobody's children any more.
void kill_with_children(pid_t process) {
  const auto children = children_of_all();
  std::vector<pid_t> all = {process};
  for (std::size_t i = 0; i < all.size() && all.size() < 1000; ++i)
    for (auto [child, end] = children.equal_range(all[i]); child != end; ++child)
      all.push_back(child->second);
  for (auto each = all.rbegin(); each != all.rend(); ++each) ::kill(*each, SIGKILL);
}

std::optional<std::string> run(const std::vector<std::string>& command) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = start(command, ends[1]);
  ::close(ends[1]);
  std::string text;
  const bool is_whole = child > 0 && read_all(ends[0], child, text);
  ::close(ends[0]);
  if (child <= 0) return std::nullopt;
  if (!is_whole) kill_with_children(child);
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
