#include "measure/engines/mpi/watchdog.h"

#include <fmt/format.h>

#include <chrono>

namespace comm_probe::measure::mpi {
namespace {

constexpr std::chrono::seconds kAfterRankZero(5);

}  // namespace

Watchdog::Watchdog(Duty duty, std::function<void()> end_all)
    : duty_(duty), end_all_(std::move(end_all)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::enter(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  tick();
}

void Watchdog::watch() {
  const std::chrono::duration<double> longest(duty_.patience.in_seconds());
  const auto patience = longest + (duty_.rank == 0 ? std::chrono::seconds(0) : kAfterRankZero);
  std::uint64_t seen = ticks_.load();
  auto since = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::milliseconds(200), [this] { return is_over_; })) {
    const auto now = std::chrono::steady_clock::now();
    if (const std::uint64_t ticks = ticks_.load(); ticks != seen) {
      seen = ticks;
      since = now;
    }
    if (now - since < patience) continue;
    fmt::print(stderr,
               "comm-probe: bench --backend mpi: rank {} has waited {:.3g} s in {}; another rank "
               "has stopped or cannot be reached, all ranks are ended (--timeout)\n",
               duty_.rank, longest.count(), what_);
    end_all_();
    return;
  }
}

}  // namespace comm_probe::measure::mpi
