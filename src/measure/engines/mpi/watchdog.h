// A rank that is stopped or lost makes the others wait without end: MPI has no time limit. A
// watchdog ends them all, with one line, when a single call takes longer than its patience.
//
//   Watchdog watchdog({rank, plan.patience}, [&] { calls.abort(3); });
//   watchdog.enter("all_reduce of 8 B");   // a new thing to wait for
//   watchdog.tick();                       // after each call: it was finished
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/quantity.h"

namespace comm_probe::measure::mpi {

class Watchdog {
 public:
  struct Duty {
    int rank = 0;
    core::Duration patience = core::Duration::from_seconds(60);
  };
  // Rank 0 speaks first; the others wait a few seconds more, in case it is the one that stands
  // still.
  Watchdog(Duty duty, std::function<void()> end_all);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void enter(const std::string& what);
  // One thread ticks. Not fetch_add: a locked instruction waits until the message that was just
  // written has left this core (40 ns of the 500 ns of a reduce_scatter of 8 B).
  void tick() {
    ticks_.store(ticks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  void watch();

  Duty duty_;
  std::function<void()> end_all_;
  std::atomic<std::uint64_t> ticks_ = 0;
  std::mutex mutex_ = {};
  std::condition_variable ended_ = {};
  bool is_over_ = false;
  std::string what_ = {};
  std::thread thread_;
};

}  // namespace comm_probe::measure::mpi
