#include "measure/lab/python_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/host.h"
#include "core/shared_library.h"
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

}  // namespace

PythonRanks::PythonRanks(std::string python, std::string folder)
    : python_(std::move(python)), folder_(std::move(folder)) {
  sigemptyset(&watched_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched_, signal);
  ::sigprocmask(SIG_BLOCK, &watched_, &before_);
}

PythonRanks::~PythonRanks() {
  for (const pid_t pid : pids_)
    if (pid > 0) ::kill(pid, SIGKILL);
  for (const pid_t pid : pids_)
    if (pid > 0) ::waitpid(pid, nullptr, 0);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void PythonRanks::start(const RankWords& words) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) be_python(python_, words(rank), log_of(folder_, rank));
    pids_.push_back(pid);
  }
}

bool PythonRanks::any_runs() {
  bool runs = false;
  for (pid_t& pid : pids_) {
    if (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == pid) pid = 0;
    runs = runs || pid > 0;
  }
  return runs;
}

int PythonRanks::wait_a_little() const {
  const timespec longest = {0, 200'000'000};
  const int signal = ::sigtimedwait(&watched_, nullptr, &longest);
  return signal < 0 ? 0 : signal;
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
  if (!core::SharedLibrary::open({"libcuda.so.1"}))
    return core::missing_error(
        fmt::format("{}: libcuda.so.1 not found: NCCL runs on NVIDIA GPUs only", command),
        "install the NVIDIA driver (in a container: --gpus all)");
  return std::nullopt;
}

core::Result<int> free_port() {
  const auto listener = nccl::listen_locally();
  if (!listener) return listener.error();
  ::close(listener->socket);
  return listener->port;
}

std::string log_of(const std::string& folder, int rank) {
  return fmt::format("{}/rank{}.log", folder, rank);
}

std::string last_line(const std::string& file) {
  std::ifstream log(file);
  std::string last;
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line;
  constexpr std::size_t kMost = 300;
  return last.substr(0, kMost);
}

bool has_line(const std::string& file, const std::string& beginning) {
  std::ifstream log(file);
  for (std::string line; std::getline(log, line);)
    if (line.starts_with(beginning)) return true;
  return false;
}

bool write_file(const std::string& file, std::string_view text) {
  std::ofstream stream(file);
  stream << text;
  return static_cast<bool>(stream.flush());
}

}  // namespace comm_probe::measure::lab
