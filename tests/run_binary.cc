#include "run_binary.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <sstream>
#include <thread>

namespace comm_probe::test {
namespace {

// That of this build, or another (on a machine that has only the programs).
const char* program() {
  const char* named = std::getenv("COMM_PROBE_TESTED");
  return named != nullptr ? named : COMM_PROBE_BINARY;
}

// Standard streams are memory files: nothing can fill up, so nobody has to read while it runs.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content = "") : descriptor_(::memfd_create("test", 0)) {
    if (::write(descriptor_, content.data(), content.size()) < 0 || descriptor_ < 0) std::abort();
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string content() const {
    std::string text(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t got =
          ::pread(descriptor_, text.data() + have, text.size() - have, static_cast<off_t>(have));
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
  }

 private:
  int descriptor_;
};

[[noreturn]] void become(const std::vector<std::string>& words, const BinarySurroundings& around,
                         const std::array<int, 3>& streams) {
  ::setpgid(0, 0);  // so that the limit ends everything that it starts
  for (int i = 0; i < 3; ++i) ::dup2(streams[static_cast<std::size_t>(i)], i);
  for (const auto& [name, value] : around.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("COMM_PROBE", program(), 1);
  if (!around.directory.empty() && ::chdir(around.directory.c_str()) != 0) ::_exit(126);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv.front(), argv.data());
  ::_exit(127);
}

// Waits until it ends or its time is over.
int wait_for(pid_t child, std::chrono::milliseconds limit, bool& timed_out) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      timed_out = true;
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

BinaryRun run(const std::vector<std::string>& words, const BinarySurroundings& around) {
  BinaryRun result;
  for (const std::string& word : words)
    result.command += (result.command.empty() ? "'" : " '") + word + "'";
  const MemoryFile in(around.stdin_text), out, err;
  const pid_t child = ::fork();
  if (child == 0) become(words, around, {in.descriptor(), out.descriptor(), err.descriptor()});
  ::setpgid(child, child);  // also here: whoever comes first
  const int status = wait_for(child, around.limit, result.timed_out);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  result.out = out.content();
  result.err = err.content();
  return result;
}

std::string beginning(const std::string& text) {
  constexpr std::size_t kMost = 2000;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...\n";
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const BinaryRun& run) {
  stream << run.command << "\nexit status " << run.status;
  if (run.signal != 0) stream << ", signal " << run.signal;
  if (run.timed_out) stream << ", over its time limit";
  return stream << "\n--- stdout\n" << beginning(run.out) << "--- stderr\n" << beginning(run.err);
}

BinaryRun run_binary(const std::vector<std::string>& arguments,
                     const BinarySurroundings& surroundings) {
  std::vector<std::string> words = {program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run(words, surroundings);
}

BinaryRun run_shell(const std::string& line, const BinarySurroundings& surroundings) {
  return run({"/bin/sh", "-c", line}, surroundings);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace comm_probe::test
