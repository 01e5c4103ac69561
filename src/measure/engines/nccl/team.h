// What the threads of one process share: the barrier of all threads of all processes, a word from
// the first of them to everybody, and what becomes of the samples. What fails ends the process,
// with a note on the board.
#pragma once

#include <barrier>
#include <chrono>
#include <string>
#include <thread>

#include "measure/engines/nccl/rank_process.h"
#include "measure/engines/nccl/watch.h"

namespace comm_probe::measure::nccl {

class Team {
 public:
  Team(const Assignment& assignment, Watch& watch, Meeting& meeting)
      : assignment_(assignment),
        watch_(watch),
        meeting_(meeting),
        threads_(assignment.layout.threads) {}

  const Assignment& assignment() const { return assignment_; }
  const Plan& plan() const { return assignment_.plan; }
  Watch& watch() { return watch_; }

  template <class T>
  T require(core::Result<T> result) {
    if (!result) watch_.fail(result.error());
    return std::move(*result);
  }
  // Of the meeting. Who misses another rank is not the first to know why: it gives the one that
  // started us the time to end it.
  template <class T>
  T met(core::Result<T> result) {
    if (!result) std::this_thread::sleep_for(std::chrono::seconds(1));
    return require(std::move(result));
  }
  // All threads of all processes.
  void barrier(int thread) {
    threads_.arrive_and_wait();
    if (thread == 0) met(meeting_.barrier());
    threads_.arrive_and_wait();
  }
  // The text of the first thread of the first process, everywhere.
  std::string from_first(int thread, const std::string& text) {
    threads_.arrive_and_wait();
    if (thread == 0) same_ = met(meeting_.broadcast(text));
    threads_.arrive_and_wait();
    return same_;
  }
  int from_first(int thread, int number) {
    return std::stoi(from_first(thread, std::to_string(number)));
  }
  // The samples of all ranks for one size, on the board of the first process.
  void collect(int thread, std::size_t size);
  void collect_places(int thread);

 private:
  bool is_spread() const { return assignment_.board.processes() < assignment_.layout.processes; }

  const Assignment& assignment_;
  Watch& watch_;
  Meeting& meeting_;
  std::barrier<> threads_;
  std::string same_ = {};
};

}  // namespace comm_probe::measure::nccl
