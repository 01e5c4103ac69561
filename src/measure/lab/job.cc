#include "measure/lab/job.h"

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

[[noreturn]] void become(std::vector<std::string> command, const std::string& log_file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}

class Processes {
 public:
  Processes() {
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched_, signal);
    ::sigprocmask(SIG_BLOCK, &watched_, &before_);
  }
  ~Processes() {
    for (const pid_t pid : pids_)
      if (pid > 0) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_)
      if (pid > 0) ::waitpid(pid, nullptr, 0);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void start(const std::vector<std::string>& command, const std::string& log_file) {
    const pid_t pid = ::fork();
    if (pid == 0) become(command, log_file);
    pids_.push_back(pid);
  }
  bool any_runs() {
    bool runs = false;
    for (pid_t& pid : pids_) {
      if (pid > 0 && ::waitpid(pid, &last_status_, WNOHANG) == pid) pid = 0;
      runs = runs || pid > 0;
    }
    return runs;
  }
  // Of the process that ended last: its exit status, or 128 + the signal that ended it.
  int last_status() const {
    return WIFEXITED(last_status_) ? WEXITSTATUS(last_status_) : 128 + WTERMSIG(last_status_);
  }
  // At most 200 ms. A signal that the user sent, or 0.
  int wait_a_little() const {
    const timespec longest = {0, 200'000'000};
    const int signal = ::sigtimedwait(&watched_, nullptr, &longest);
    return signal < 0 ? 0 : signal;
  }

 private:
  std::vector<pid_t> pids_ = {};
  int last_status_ = 0;
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

JobEnd ended(Processes& processes, core::Duration patience, const std::function<bool()>& is_over) {
  JobEnd end;
  const double begin = now_seconds();
  while (processes.any_runs()) {
    end.is_cut = now_seconds() - begin > patience.in_seconds();
    if (end.is_cut) break;
    end.interrupted_by = processes.wait_a_little();
    if (end.interrupted_by != 0 || is_over()) break;
  }
  end.status = processes.last_status();
  end.took = core::Duration::from_seconds(now_seconds() - begin);
  return end;
}

}  // namespace

core::Result<JobEnd> run_job(const Job& job, const RankWords& words,
                             const std::function<bool()>& is_over) {
  const auto port = free_port();
  if (!port) return port.error();
  Processes ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<std::string> command = words(rank, *port);
    command.insert(command.begin(), job.python);
    ranks.start(command, log_of(job.folder, rank));
  }
  return ended(ranks, job.patience, is_over);
}

JobEnd run_command(const std::vector<std::string>& command, const std::string& log_file,
                   core::Duration patience) {
  Processes one;
  one.start(command, log_file);
  return ended(one, patience, [] { return false; });
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
