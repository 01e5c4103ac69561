#include "cli/doctor_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "cli/upload.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr unsigned kMostAtOnce = 8;
constexpr std::size_t kMostSaid = 4096;  // of what it writes on stderr
constexpr rlim_t kMostMemory = rlim_t{16} << 30U;
constexpr rlim_t kLeastMemory = rlim_t{1} << 30U;
constexpr std::chrono::milliseconds kBetweenLooks(5);

void limit(int resource, rlim_t most) {
  const rlimit both = {.rlim_cur = most, .rlim_max = most};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// What one of them may write to: shares of three quarters of the machine.
rlim_t memory_share(std::size_t at_once) {
  const auto pages = static_cast<rlim_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const auto page = static_cast<rlim_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  return std::clamp(pages * page / 4 * 3 / at_once, kLeastMemory, kMostMemory);
}

// Sanitizers reserve more than there is.
void limit_myself([[maybe_unused]] rlim_t memory) {
  limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_AS, kMostMemory);
  limit(RLIMIT_DATA, memory);
#endif
}

// Only calls that are safe in a child of a process of any kind.
[[noreturn]] void become_doctor(const char* folder, int says, rlim_t memory) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(says, STDERR_FILENO);
  constexpr int kMostOpen = 4096;
  for (int descriptor = STDERR_FILENO + 1; descriptor < kMostOpen; ++descriptor)
    ::close(descriptor);
  limit_myself(memory);
  const char* const words[] = {"comm-probe",   "doctor",       "--html",
                               Doctors::kPage, Upload::kFiles, nullptr};
  if (::chdir(folder) == 0) ::execv("/proc/self/exe", const_cast<char* const*>(words));
  ::_exit(3);
}

// The last line that it wrote, without the name of the program.
std::string last_line(std::string said) {
  while (said.ends_with('\n')) said.pop_back();
  said.erase(0, said.rfind('\n') + 1);
  constexpr std::string_view kName = "comm-probe: ";
  return said.starts_with(kName) ? said.substr(kName.size()) : said;
}

Verdict verdict_of(int status, const std::string& said, bool has_page) {
  if (WIFSIGNALED(status))
    return {Refusal{500, fmt::format("doctor was ended by signal {} ({}) on these files: they need "
                                     "more memory than it may use, or a bug in comm-probe; please "
                                     "report it with the files",
                                     WTERMSIG(status), ::strsignal(WTERMSIG(status)))}};
  const int exit_status = WEXITSTATUS(status);
  const bool is_result = exit_status == 0 || exit_status == 1 || exit_status == 5;
  if (is_result && has_page) return {{}, exit_status};
  const int status_of_http = exit_status == 2 ? 422 : exit_status == 3 ? 503 : 500;
  return {Refusal{status_of_http, "doctor: " + last_line(said)}, exit_status};
}

}  // namespace

// One run of doctor.
struct Run : std::enable_shared_from_this<Run> {
  Run(asio::io_context& context, std::string where, Doctors::Done then)
      : folder(std::move(where)), done(std::move(then)), says(context), timer(context) {}

  std::string folder;
  Doctors::Done done;
  asio::posix::stream_descriptor says;
  asio::steady_timer timer;
  pid_t child = -1;
  bool is_late = false;
  bool is_given_up = false;
  std::string said = {};
  std::array<char, 1024> block = {};

  bool start(rlim_t memory);
  void watch(core::Duration patience);
  void listen(std::function<void()> ended);
  void reap(std::function<void()> ended);
  Verdict verdict(int status) const;
  void end() const {
    if (child > 0) ::kill(-child, SIGKILL);
  }
};

bool Run::start(rlim_t memory) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  child = ::fork();
  if (child == 0) become_doctor(folder.c_str(), ends[1], memory);
  ::close(ends[1]);
  if (child < 0) return ::close(ends[0]), false;
  ::setpgid(child, child);  // also here: whoever comes first
  says.assign(ends[0]);
  return true;
}

void Run::watch(core::Duration patience) {
  timer.expires_after(std::chrono::milliseconds(static_cast<long>(patience.in_us() / 1000)));
  timer.async_wait([self = shared_from_this()](error_code cancelled) {
    if (cancelled) return;
    self->is_late = true;
    self->end();
  });
}

// Its stderr ends with it.
void Run::listen(std::function<void()> ended) {
  const auto heard = [self = shared_from_this(), ended = std::move(ended)](error_code error,
                                                                           std::size_t bytes) {
    const std::size_t room = kMostSaid - std::min(kMostSaid, self->said.size());
    self->said.append(self->block.data(), std::min(bytes, room));
    error ? self->reap(ended) : self->listen(ended);
  };
  says.async_read_some(asio::buffer(block), heard);
}

void Run::reap(std::function<void()> ended) {
  int status = 0;
  const pid_t got = ::waitpid(child, &status, WNOHANG);
  if (got == 0) {
    const auto again = std::make_shared<asio::steady_timer>(says.get_executor(), kBetweenLooks);
    again->async_wait([self = shared_from_this(), again, ended = std::move(ended)](error_code) {
      self->reap(ended);
    });
    return;
  }
  child = -1;
  timer.cancel();
  done(verdict(status));
  ended();
}

// Said to nobody but the log of serve.
Verdict given_up() { return {Refusal{499, "the client went away; doctor was ended"}}; }

Verdict Run::verdict(int status) const {
  if (is_given_up) return given_up();
  if (is_late)
    return {Refusal{504,
                    "doctor took longer than it may (--patience) and was ended; give it these "
                    "files on the command line: comm-probe doctor FILES"}};
  return verdict_of(status, said, std::filesystem::exists(folder + "/" + Doctors::kPage));
}

struct Doctors::Ward : std::enable_shared_from_this<Ward> {
  Ward(asio::io_context& its_context, core::Duration its_patience)
      : context(its_context), patience(its_patience) {}

  void begin_next();

  asio::io_context& context;
  core::Duration patience;
  std::deque<std::shared_ptr<Run>> waiting = {};
  std::set<std::shared_ptr<Run>> running = {};
  const std::size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1U, kMostAtOnce);
};

void Doctors::Ward::begin_next() {
  while (!waiting.empty() && running.size() < at_once) {
    const std::shared_ptr<Run> run = std::move(waiting.front());
    waiting.pop_front();
    if (!run->start(memory_share(at_once))) {
      run->done({Refusal{503, fmt::format("cannot start doctor: {}", std::strerror(errno))}});
      continue;
    }
    running.insert(run);
    run->watch(patience);
    run->listen([self = shared_from_this(), run] {
      self->running.erase(run);
      self->begin_next();
    });
  }
}

Doctors::Doctors(asio::io_context& context, core::Duration patience)
    : ward_(std::make_shared<Ward>(context, patience)) {}

Doctors::~Doctors() {
  for (const auto& run : ward_->running) {
    run->end();
    if (run->child > 0) ::waitpid(run->child, nullptr, 0);
  }
  ward_->waiting.clear();
  ward_->running.clear();
}

void Doctors::give_up(const std::string& folder) {
  const auto is_meant = [&](const std::shared_ptr<Run>& run) { return run->folder == folder; };
  const auto waits = std::find_if(ward_->waiting.begin(), ward_->waiting.end(), is_meant);
  if (waits != ward_->waiting.end()) {
    const std::shared_ptr<Run> run = *waits;
    ward_->waiting.erase(waits);
    return run->done(given_up());
  }
  const auto runs = std::find_if(ward_->running.begin(), ward_->running.end(), is_meant);
  if (runs == ward_->running.end()) return;
  (*runs)->is_given_up = true;
  (*runs)->end();
}

void Doctors::examine(const std::string& folder, Done done) {
  ward_->waiting.push_back(std::make_shared<Run>(ward_->context, folder, std::move(done)));
  ward_->begin_next();
}

}  // namespace comm_probe::cli
