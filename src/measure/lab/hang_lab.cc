#include "measure/lab/hang_lab.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/host.h"
#include "core/json.h"
#include "core/shared_library.h"
#include "core/units.h"
#include "measure/clock.h"
#include "measure/engines/nccl/meeting.h"

namespace comm_probe::measure::lab {
namespace {

using core::Result;

constexpr double kSettled = 5;  // seconds without a new byte in any dump

std::string script_of(const std::string& folder) { return folder + "/hang_rank.py"; }
std::string log_of(const std::string& folder, int rank) {
  return fmt::format("{}/rank{}.log", folder, rank);
}
std::string dump_of(const std::string& folder, int rank) {
  return fmt::format("{}/nccl_trace_rank_{}", folder, rank);
}

std::uint64_t size_of(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

bool write_file(const std::string& file, std::string_view text) {
  std::ofstream stream(file);
  stream << text;
  return static_cast<bool>(stream.flush());
}

std::string truth_of(const HangCase& planted) {
  const core::Json truth = {
      {"case", fmt::format("lab/{}/{}", planted.hang_class, planted.variant)},
      {"class", planted.hang_class},
      {"culprit_ranks", planted.has_culprit ? std::vector<int>{planted.rank} : std::vector<int>{}},
      {"explanation", planted.planted},
      {"missing_dumps", planted.no_dump},
      {"ranks", kHangRanks},
      {"hung", true}};
  return truth.dump(1) + "\n";
}

// A dump of an earlier run would pass for one of this.
Result<bool> prepare(const HangRequest& request) {
  std::error_code error;
  std::filesystem::create_directories(request.folder, error);
  for (int rank = 0; rank < kHangRanks; ++rank) {
    std::filesystem::remove(dump_of(request.folder, rank), error);
    std::filesystem::remove(log_of(request.folder, rank), error);
  }
  if (!write_file(script_of(request.folder), hang_script()) ||
      !write_file(request.folder + "/truth.json", truth_of(request.planted)))
    return core::input_error(fmt::format("cannot write into {}", request.folder),
                             "name another folder with --folder DIR");
  return true;
}

// A port that was free a moment ago.
Result<int> free_port() {
  const auto listener = nccl::listen_locally();
  if (!listener) return listener.error();
  ::close(listener->socket);
  return listener->port;
}

[[noreturn]] void be_rank(const HangRequest& request, int rank, int port) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int log = ::open(log_of(request.folder, rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  std::vector<std::string> words = {request.python,
                                    script_of(request.folder),
                                    std::string(request.planted.variant),
                                    std::to_string(rank),
                                    std::to_string(kHangRanks),
                                    request.folder,
                                    std::to_string(port),
                                    fmt::format("{}", request.timeout.in_seconds())};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}

class Ranks {
 public:
  explicit Ranks(const HangRequest& request) : request_(request) {
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched_, signal);
    ::sigprocmask(SIG_BLOCK, &watched_, &before_);
  }
  // None survives it, a stopped one neither.
  ~Ranks() {
    for (const pid_t pid : pids_)
      if (pid > 0) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_)
      if (pid > 0) ::waitpid(pid, nullptr, 0);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void start(int port) {
    for (int rank = 0; rank < kHangRanks; ++rank) {
      const pid_t pid = ::fork();
      if (pid == 0) be_rank(request_, rank, port);
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
  // A signal that the user sent meanwhile, or 0.
  int wait_a_little() const {
    const timespec longest = {0, 200'000'000};
    const int signal = ::sigtimedwait(&watched_, nullptr, &longest);
    return signal < 0 ? 0 : signal;
  }

 private:
  const HangRequest& request_;
  std::vector<pid_t> pids_ = {};
  sigset_t watched_ = {};
  sigset_t before_ = {};
};

bool is_ready(const std::string& folder, int rank) {
  std::ifstream log(log_of(folder, rank));
  for (std::string line; std::getline(log, line);)
    if (line.starts_with("READY ")) return true;
  return false;
}

std::string last_line(const std::string& file) {
  std::ifstream log(file);
  std::string last;
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line;
  constexpr std::size_t kMost = 300;
  return last.substr(0, kMost);
}

bool is_expected(const HangCase& planted, int rank) {
  return std::find(planted.no_dump.begin(), planted.no_dump.end(), rank) == planted.no_dump.end();
}

// Grows until the last dump is written; 0 while one is missing.
std::uint64_t bytes_of_dumps(const HangRequest& request) {
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < kHangRanks; ++rank) {
    const std::uint64_t size = size_of(dump_of(request.folder, rank));
    if (size == 0 && is_expected(request.planted, rank)) return 0;
    bytes += size;
  }
  return bytes;
}

// Until every dump is there and has settled, all have ended, or patience is at its end.
int watch(const HangRequest& request, Ranks& ranks, double begin) {
  std::uint64_t seen = 0;
  double since = begin;
  while (ranks.any_runs() && now_seconds() - begin < request.patience.in_seconds()) {
    if (const int signal = ranks.wait_a_little(); signal != 0) return signal;
    const std::uint64_t bytes = bytes_of_dumps(request);
    if (bytes != seen) since = now_seconds();
    seen = bytes;
    if (bytes > 0 && now_seconds() - since > kSettled) break;
  }
  return 0;
}

Result<HangLeft> look(const HangRequest& request, HangLeft left) {
  for (int rank = 0; rank < kHangRanks; ++rank) {
    if (left.interrupted_by == 0 && !is_ready(request.folder, rank))
      return core::missing_error(fmt::format("rank {} ended before the fault was planted: {}", rank,
                                             last_line(log_of(request.folder, rank))),
                                 fmt::format("{} says more", log_of(request.folder, rank)));
    const bool has_dump = size_of(dump_of(request.folder, rank)) > 0;
    if (has_dump) left.dumps.push_back(rank);
    if (!has_dump && is_expected(request.planted, rank)) left.waiting.push_back(rank);
  }
  return left;
}

}  // namespace

std::optional<core::Error> missing_for_hang(const std::string& python) {
  const auto answer = core::Host::real().output(
      {python, "-c", "import importlib.util as u; print('torch' if u.find_spec('torch') else '')"});
  if (!answer)
    return core::missing_error(fmt::format("lab hang: {} does not run", python),
                               "name one that has PyTorch with --python FILE");
  if (answer->find("torch") == std::string::npos)
    return core::missing_error(fmt::format("lab hang: {} has no PyTorch", python),
                               "pip install torch, or name one that has it with --python FILE");
  if (!core::SharedLibrary::open({"libcuda.so.1"}))
    return core::missing_error("lab hang: libcuda.so.1 not found: NCCL runs on NVIDIA GPUs only",
                               "install the NVIDIA driver (in a container: --gpus all)");
  return std::nullopt;
}

Result<HangLeft> make_hang(const HangRequest& asked,
                           const std::function<void(const std::string&)>& progress) {
  HangRequest request = asked;
  std::error_code error;
  request.folder = std::filesystem::absolute(asked.folder, error);
  if (const auto prepared = prepare(request); !prepared) return prepared.error();
  const auto port = free_port();
  if (!port) return port.error();
  HangLeft left = {.folder = asked.folder};
  const double begin = now_seconds();
  progress(
      fmt::format("{} ranks hang on purpose ({}): a minute", kHangRanks, request.planted.planted));
  {
    Ranks ranks(request);
    ranks.start(*port);
    left.interrupted_by = watch(request, ranks, begin);
  }
  left.took = core::Duration::from_seconds(now_seconds() - begin);
  return look(request, std::move(left));
}

}  // namespace comm_probe::measure::lab
