// Two processes that work with each other: where they meet, and why one of them failed. Lies in
// memory that both share, all zero at first.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace comm_probe::measure::local {

// Exit status of a process that left its reason.
inline constexpr int kLeftItsReason = 76;

struct TwoProcesses {
  // Of the reason: who has begun to write it, who reads it.
  static constexpr std::uint32_t kNone = 0, kWriting = 1, kWritten = 2;
  std::atomic<std::uint32_t> meetings[2];
  std::atomic<std::uint32_t> reason;
  char failure[512];

  // True once `failure` is whole: who leaves before that has the writer killed in the middle of it.
  bool has_failed() const { return reason.load() == kWritten; }
  // The first failure of either is kept; it is whole when this returns.
  void fail(const char* text) {
    std::uint32_t none = kNone;
    if (reason.compare_exchange_strong(none, kWriting)) {
      std::snprintf(failure, sizeof failure, "%s", text);
      reason.store(kWritten);
    }
    while (reason.load() == kWriting) ::sched_yield();
  }
  // Both come here before either goes on; `meanwhile` is called as long as one waits. False where
  // one of them has failed.
  template <class Meanwhile>
  bool meet(int rank, const Meanwhile& meanwhile) {
    const std::uint32_t mine = meetings[rank].fetch_add(1) + 1;
    while (meetings[1 - rank].load() < mine) {
      if (has_failed()) return false;
      meanwhile();
    }
    return !has_failed();
  }
};

}  // namespace comm_probe::measure::local
