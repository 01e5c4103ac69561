#include "measure/engines/mpi/watchdog.h"

#include <fmt/format.h>

#include <cstdlib>

namespace comm_probe::measure::mpi {
namespace {

// The longest call that a healthy machine makes: 8 GiB at 1 GB/s takes 8 s.
constexpr std::chrono::seconds kLongest(60);
constexpr std::chrono::seconds kAfterRankZero(5);

std::chrono::seconds limit() {
  const char* text = std::getenv("COMM_PROBE_MPI_TIMEOUT");
  const int given = text == nullptr ? 0 : std::atoi(text);
  return given > 0 ? std::chrono::seconds(given) : kLongest;
}

}  // namespace

Watchdog::Watchdog(int rank, std::function<void()> end_all)
    : rank_(rank), end_all_(std::move(end_all)), thread_([this] { watch(); }) {}

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
  const auto longest = limit();
  const auto patience = longest + (rank_ == 0 ? std::chrono::seconds(0) : kAfterRankZero);
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
               "comm-probe: bench --backend mpi: rank {} has waited {} s in {}; another rank has "
               "stopped or cannot be reached, all ranks are ended\n",
               rank_, longest.count(), what_);
    end_all_();
    return;
  }
}

}  // namespace comm_probe::measure::mpi
