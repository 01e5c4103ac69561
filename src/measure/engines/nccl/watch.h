// Ends this process where one thing takes longer than it may: a rank that waits for another inside
// NCCL does so for ever, and no call of NCCL takes a time-out.
//
//   Watch watch(note, patience);
//   watch.doing("all_reduce of 8 B");   // starts the clock anew
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "core/quantity.h"
#include "core/result.h"
#include "measure/engines/nccl/board.h"

namespace comm_probe::measure::nccl {

class Watch {
 public:
  Watch(Note& note, core::Duration patience);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void doing(const std::string& what);
  // One more thing is done: who waits for others does not get here.
  void advance() { note_.progress.fetch_add(1, std::memory_order_relaxed); }
  // Writes the note and ends the process.
  [[noreturn]] void fail(const core::Error& error);

 private:
  void watch();
  [[noreturn]] void end(Ending ending, const std::string& why);

  Note& note_;
  double patience_;
  std::mutex mutex_ = {};
  std::string what_ = "start";
  double since_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace comm_probe::measure::nccl
