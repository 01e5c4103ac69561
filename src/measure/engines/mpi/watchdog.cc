#include "measure/engines/mpi/watchdog.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "core/host.h"
#include "measure/engines/local/death.h"

namespace comm_probe::measure::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 speaks first; the others wait longer, in case it is the one that stands still.
// Everybody waits kForLooks beyond its patience: a rank that is stopped is to be seen as such.
constexpr std::chrono::seconds kForLooks(2), kAfterRankZero(3), kAfterEachRank(2);
// This process looks every 50 ms; where it could not for so long it was stopped itself.
constexpr std::chrono::seconds kWasStopped(1);
// A launcher gives a second between SIGTERM and SIGKILL (Open MPI: odls_base_sigkill_timeout).
// Ranks that were told to end stay for a part of it, so that one that is gone was gone before.
constexpr std::chrono::milliseconds kStay(400);

volatile std::sig_atomic_t g_told_to_end = 0;
struct sigaction g_before = {};

void note_end(int) { g_told_to_end = 1; }

bool has_ended(pid_t process) {
  const auto status = core::Host::real().read(fmt::format("/proc/{}/status", process));
  const auto pulse = status ? local::read_pulse(*status) : std::nullopt;
  return !pulse || pulse->state == 'Z';
}

local::StandstillLimit limit_for(core::Duration patience) {
  const double seconds = std::ceil(patience.in_seconds());
  return {.looks = static_cast<int>(std::clamp(seconds, 1.0, 5.0)), .only_stopped = true};
}

}  // namespace

int speaker_for(int stopped, const std::vector<pid_t>& processes) {
  for (std::size_t rank = 0; rank < processes.size(); ++rank)
    if (processes[rank] > 0 && static_cast<int>(rank) != stopped) return static_cast<int>(rank);
  return -1;
}

struct Watchdog::Waiting {
  local::Standstill standstill;
  std::uint64_t ticks = 0;
  Clock::time_point since = Clock::now();
};

Watchdog::Watchdog(core::Duration patience) : patience_(patience) {
  struct sigaction action = {};
  action.sa_handler = note_end;
  g_told_to_end = 0;
  ::sigaction(SIGTERM, &action, &g_before);
}

Watchdog::~Watchdog() { ::sigaction(SIGTERM, &g_before, nullptr); }

void Watchdog::join(int rank) {
  const std::lock_guard lock(mutex_);
  rank_ = rank;
  tick();
}

void Watchdog::know(const std::vector<pid_t>& processes) {
  const std::lock_guard lock(mutex_);
  processes_ = processes;
}

void Watchdog::enter(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  tick();
}

void Watchdog::end_watch() { join(-1); }

void Watchdog::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_all();
}

std::optional<RankDeath> Watchdog::wait() {
  Waiting waiting = {local::Standstill(limit_for(patience_))};
  std::unique_lock lock(mutex_);
  Clock::time_point last = Clock::now();
  while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [this] { return is_over_; })) {
    const Clock::time_point now = Clock::now();
    was_stopped_ |= now - last > kWasStopped;
    last = now;
    auto death = g_told_to_end != 0 ? asked_to_end() : look(waiting);
    if (death) return death;
  }
  return std::nullopt;
}

// The launcher ends us because a rank has ended, or because somebody ends the launcher.
std::optional<RankDeath> Watchdog::asked_to_end() const {
  const auto death = gone();
  if (rank_ <= 0 && death && !was_stopped_) return death;
  if (rank_ > 0 || was_stopped_) {  // who ended us has said of whom
    std::this_thread::sleep_for(kStay);
    ::signal(SIGTERM, SIG_DFL);  // rank 0 speaks
  } else {
    ::sigaction(SIGTERM, &g_before, nullptr);
  }
  ::raise(SIGTERM);
  return std::nullopt;
}

std::optional<RankDeath> Watchdog::gone() const {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank] <= 0 || !has_ended(processes_[rank])) continue;
    RankDeath death = {.rank = static_cast<int>(rank),
                       .sentence = fmt::format("rank {} ended before the run was finished", rank),
                       .process = processes_[rank]};
    death.is_launched = true;
    return death;
  }
  return std::nullopt;
}

RankDeath Watchdog::late() const {
  RankDeath death = {.rank = -1,
                     .sentence = fmt::format(
                         "rank {} has waited {:.3g} s in {}: another rank has stopped on another "
                         "host, or cannot be reached",
                         rank_, patience_.in_seconds(), what_)};
  death.timed_out = death.is_launched = true;
  return death;
}

std::optional<RankDeath> Watchdog::look(Waiting& waiting) {
  const auto now = Clock::now();
  if (const std::uint64_t ticks = ticks_.load(); ticks != waiting.ticks || rank_ < 0) {
    waiting.ticks = ticks;
    waiting.since = now;
  }
  if (rank_ < 0) return std::nullopt;
  if (const auto still = waiting.standstill.look(processes_)) {
    if (speaker_for(still->rank, processes_) != rank_) return std::nullopt;
    local::Ended ended = {.processes = {processes_.begin(), processes_.end()}};
    ended.died = local::Died{.rank = still->rank, .still = still};
    RankDeath death = local::death_of(ended);
    death.is_launched = true;
    return death;
  }
  const std::chrono::duration<double> longest(patience_.in_seconds());
  const auto more =
      kForLooks + (rank_ == 0 ? std::chrono::seconds(0) : kAfterRankZero + kAfterEachRank * rank_);
  if (now - waiting.since < longest + more) return std::nullopt;
  if (const auto death = gone()) return death;
  return late();
}

EndOnLoss::EndOnLoss(Watchdog& watchdog, std::function<void()> end_all)
    : watchdog_(watchdog), thread_([&watchdog, end_all = std::move(end_all)] {
        const auto death = watchdog.wait();
        if (!death) return;
        fmt::print(stderr, "comm-probe: bench: {}\n", death->sentence);
        end_all();
      }) {}

EndOnLoss::~EndOnLoss() {
  watchdog_.end_watch();
  watchdog_.finish();
  thread_.join();
}

}  // namespace comm_probe::measure::mpi
