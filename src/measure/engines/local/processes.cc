#include "measure/engines/local/processes.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

namespace comm_probe::measure::local {
namespace {

// The signals that the parent takes one by one while ranks run; restored at the end.
class WatchedSignals {
 public:
  WatchedSignals() {
    sigemptyset(&watched_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched_, signal);
    ::sigprocmask(SIG_BLOCK, &watched_, &before_);
  }
  ~WatchedSignals() { restore(); }
  WatchedSignals(const WatchedSignals&) = delete;
  WatchedSignals& operator=(const WatchedSignals&) = delete;
  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  // The next one, or 0 after 100 ms.
  int next() const {
    const timespec longest = {0, 100'000'000};
    const int signal = ::sigtimedwait(&watched_, nullptr, &longest);
    return signal < 0 ? 0 : signal;
  }

 private:
  sigset_t watched_ = {};
  sigset_t before_ = {};
};

void bind_to(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  ::sched_setaffinity(0, sizeof only, &only);  // a wish: without it the scheduler chooses
}

[[noreturn]] void be_rank(int rank, pid_t parent, const std::function<void(int)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // the parent was gone before the line above
  std::signal(SIGINT, SIG_IGN);           // the parent decides for all
  for (const int signal : {SIGTERM, SIGHUP})
    std::signal(signal, SIG_DFL);  // its words are not ours
  body(rank);
  ::_exit(0);
}

class Ranks {
 public:
  Ranks(Binding binding, const WatchedSignals& signals) : binding_(binding), signals_(signals) {}

  void start(int ranks, const std::function<void(int)>& body) {
    const std::vector<int> cpus = allowed_cpus();
    const pid_t parent = ::getpid();
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        if (binding_ == Binding::kOneCpu)
          bind_to(cpus[static_cast<std::size_t>(rank) % cpus.size()]);
        signals_.restore();
        be_rank(rank, parent, body);
      }
      pids_.push_back(pid);
      if (pid < 0) {
        ended_.died = Died{.rank = rank, .status = errno, .was_started = false};
        break;
      }
      ended_.processes.push_back(pid);
      ++running_;
    }
  }
  bool running() const { return running_ > 0; }

  // Takes the exit status of every rank that has ended.
  void collect() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      if (pids_[rank] <= 0 || ::waitpid(pids_[rank], &status, WNOHANG) != pids_[rank]) continue;
      pids_[rank] = 0;
      --running_;
      if (!ended_.ok() || status == 0) continue;  // only the first death is news
      ended_.died = Died{.rank = static_cast<int>(rank),
                         .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                         .status = WIFEXITED(status) ? WEXITSTATUS(status) : 0};
    }
  }
  // A rank that does not run any more counts as dead: all others wait for it.
  void watch(Standstill& standstill) {
    if (!ended_.ok()) return;
    if (const auto still = standstill.look(pids_))
      ended_.died = Died{.rank = still->rank, .still = still};
  }
  void interrupt(int signal) {
    if (ended_.ok()) ended_.interrupted_by = signal;
  }
  void kill_rest() const {
    for (const pid_t pid : pids_)
      if (pid > 0) ::kill(pid, SIGKILL);
  }
  const Ended& ended() const { return ended_; }

 private:
  Binding binding_;
  const WatchedSignals& signals_;
  std::vector<pid_t> pids_ = {};
  int running_ = 0;
  Ended ended_ = {};
};

}  // namespace

std::string Died::sentence() const {
  if (!was_started)
    return fmt::format("rank {} could not be started: {}", rank, std::strerror(status));
  if (still)
    return fmt::format("rank {} has not run for {:.3g} s ({})", rank,
                       std::chrono::duration<double>(still->since).count(),
                       still->state == 'T' ? "it is stopped, as by SIGSTOP" : "it sleeps for good");
  if (signal != 0)
    return fmt::format("rank {} was killed by signal {} ({})", rank, signal, strsignal(signal));
  return fmt::format("rank {} ended with status {}", rank, status);
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

Ended run_ranks(int ranks, const std::function<void(int)>& body, const Care& care) {
  const WatchedSignals signals;
  Standstill standstill(care.limit);
  Ranks all(care.binding, signals);
  all.start(ranks, body);
  while (all.running()) {
    if (!all.ended().ok()) all.kill_rest();
    const int signal = signals.next();
    if (signal != 0 && signal != SIGCHLD) all.interrupt(signal);
    all.collect();
    all.watch(standstill);
    care.look();
  }
  return all.ended();
}

void end_after(core::Duration limit) {
  if (limit.in_seconds() > 0) ::alarm(static_cast<unsigned>(std::ceil(limit.in_seconds())));
}

}  // namespace comm_probe::measure::local
