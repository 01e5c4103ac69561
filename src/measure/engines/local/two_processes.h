// Two processes that work with each other: where they meet, and why one of them failed. Lies in
// memory that both share, all zero at first.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace comm_probe::measure::local {

// Exit status of a process that left its reason.
inline constexpr int kLeftItsReason = 76;

struct TwoProcesses {
  std::atomic<std::uint32_t> meetings[2];
  std::atomic<std::uint32_t> failures;
  char failure[512];

  bool has_failed() const { return failures.load() != 0; }
  // The first failure of either is kept. To be read when both have ended.
  void fail(const char* text) {
    if (failures.fetch_add(1) == 0) std::snprintf(failure, sizeof failure, "%s", text);
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
