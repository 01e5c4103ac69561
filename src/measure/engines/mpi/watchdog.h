// A rank that is stopped or lost makes the others wait without end: MPI has no time limit. While
// one thread measures, the other looks here: at the processes of this host (stopped for five looks,
// as engines/local has it; gone when the launcher ends us), and at how long a single call takes.
//
//   measuring thread: watchdog.enter("all_reduce of 8 B"); watchdog.tick(); ... watchdog.finish();
//   the other:        const auto death = watchdog.wait();   // absent: finished
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "measure/measure.h"

namespace comm_probe::measure::mpi {

// Who says that a rank stands still: the lowest other one of its host; -1: nobody there can.
// Processes by rank, 0 on another host.
int speaker_for(int stopped, const std::vector<pid_t>& processes);

class Watchdog {
 public:
  explicit Watchdog(core::Duration patience);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From here on time counts; before it, a launcher may take as long as it likes.
  void join(int rank);
  void know(const std::vector<pid_t>& processes);
  void enter(const std::string& what);
  // One thread ticks. Not fetch_add: a locked instruction waits until the message that was just
  // written has left this core (40 ns of the 500 ns of a reduce_scatter of 8 B).
  void tick() {
    ticks_.store(ticks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void end_watch();  // ranks may leave now
  void finish();

  // What this rank has to say of a rank that no longer takes part.
  std::optional<RankDeath> wait();

 private:
  struct Waiting;
  std::optional<RankDeath> look(Waiting& waiting);
  std::optional<RankDeath> asked_to_end() const;
  std::optional<RankDeath> gone() const;
  RankDeath late() const;

  core::Duration patience_;
  std::atomic<std::uint64_t> ticks_ = 0;
  std::mutex mutex_ = {};
  std::condition_variable ended_ = {};
  bool is_over_ = false;
  bool was_stopped_ = false;  // this process itself, for a while
  int rank_ = -1;             // not joined, or not to be watched any more
  std::vector<pid_t> processes_ = {};
  std::string what_ = {};
};

// For a run that keeps nothing: while one lives, a rank that is lost is one line on stderr, and
// `end_all` is called.
class EndOnLoss {
 public:
  EndOnLoss(Watchdog& watchdog, std::function<void()> end_all);
  ~EndOnLoss();
  EndOnLoss(const EndOnLoss&) = delete;
  EndOnLoss& operator=(const EndOnLoss&) = delete;

 private:
  Watchdog& watchdog_;
  std::thread thread_;
};

}  // namespace comm_probe::measure::mpi
