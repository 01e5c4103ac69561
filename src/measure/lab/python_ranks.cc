#include "measure/lab/python_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/host.h"
#include "measure/clock.h"
#include "measure/engines/nccl/engine.h"
#include "measure/engines/nccl/meeting.h"

namespace comm_probe::measure::lab {
namespace {

[[noreturn]] void be_python(const std::string& python, std::vector<std::string> words,
                            const std::string& log_file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  words.insert(words.begin(), python);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}

class PythonRanks {
 public:
  PythonRanks() {
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched_, signal);
    ::sigprocmask(SIG_BLOCK, &watched_, &before_);
  }
  ~PythonRanks() {
    for (const pid_t pid : pids_)
      if (pid > 0) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_)
      if (pid > 0) ::waitpid(pid, nullptr, 0);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  PythonRanks(const PythonRanks&) = delete;
  PythonRanks& operator=(const PythonRanks&) = delete;

  void start(const Job& job, const RankWords& words, int port) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t pid = ::fork();
      if (pid == 0) be_python(job.python, words(rank, port), log_of(job.folder, rank));
      pids_.push_back(pid);
    }
  }
  bool any_runs() {
    bool runs = false;
    for (pid_t& pid : pids_) {
      if (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == pid) pid = 0;
      runs = runs || pid > 0;
    }
    return runs;
  }
  // At most 200 ms. A signal that the user sent, or 0.
  int wait_a_little() const {
    const timespec longest = {0, 200'000'000};
    const int signal = ::sigtimedwait(&watched_, nullptr, &longest);
    return signal < 0 ? 0 : signal;
  }

 private:
  std::vector<pid_t> pids_ = {};
  sigset_t watched_ = {};
  sigset_t before_ = {};
};

// One that was free a moment ago.
core::Result<int> free_port() {
  const auto listener = nccl::listen_locally();
  if (!listener) return listener.error();
  ::close(listener->socket);
  return listener->port;
}

std::string last_line(const std::string& file) {
  std::ifstream log(file);
  std::string last;
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line;
  constexpr std::size_t kMost = 300;
  return last.substr(0, kMost);
}

bool write_file(const std::string& file, std::string_view text) {
  std::ofstream stream(file);
  stream << text;
  return static_cast<bool>(stream.flush());
}

}  // namespace

core::Result<JobEnd> run_job(const Job& job, const RankWords& words,
                             const std::function<bool()>& is_over) {
  const auto port = free_port();
  if (!port) return port.error();
  JobEnd end;
  const double begin = now_seconds();
  {
    PythonRanks ranks;
    ranks.start(job, words, *port);
    while (ranks.any_runs() && now_seconds() - begin < job.patience.in_seconds()) {
      end.interrupted_by = ranks.wait_a_little();
      if (end.interrupted_by != 0 || is_over()) break;
    }
  }
  end.took = core::Duration::from_seconds(now_seconds() - begin);
  return end;
}

core::Result<bool> write_files(const std::string& folder, const std::vector<JobFile>& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const JobFile& file : files)
    if (!write_file(fmt::format("{}/{}", folder, file.name), file.text))
      return core::input_error(fmt::format("cannot write into {}", folder),
                               "name another folder with --folder DIR");
  return true;
}

std::optional<core::Error> missing_for_ranks(const std::string& command,
                                             const std::string& python) {
  const auto answer = core::Host::real().output(
      {python, "-c", "import importlib.util as u; print('torch' if u.find_spec('torch') else '')"});
  if (!answer)
    return core::missing_error(fmt::format("{}: {} does not run", command, python),
                               "name one that has PyTorch with --python FILE");
  if (answer->find("torch") == std::string::npos)
    return core::missing_error(fmt::format("{}: {} has no PyTorch", command, python),
                               "pip install torch, or name one that has it with --python FILE");
  auto missing = nccl::missing_cuda();
  if (missing) missing->message = fmt::format("{}: {}", command, missing->message);
  return missing;
}

std::string log_of(const std::string& folder, int rank) {
  return fmt::format("{}/rank{}.log", folder, rank);
}

bool has_said(const std::string& folder, int rank, const std::string& beginning) {
  std::ifstream log(log_of(folder, rank));
  for (std::string line; std::getline(log, line);)
    if (line.starts_with(beginning)) return true;
  return false;
}

core::Error ended_early(const std::string& folder, int rank, const std::string& when) {
  const std::string log = log_of(folder, rank);
  return core::missing_error(fmt::format("rank {} ended {}: {}", rank, when, last_line(log)),
                             fmt::format("{} says more", log));
}

}  // namespace comm_probe::measure::lab
