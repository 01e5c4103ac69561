// A limit of bytes per second that several processes share: a token bucket, kept as the time at
// which it is empty no longer. Who takes n bytes moves that time by n / rate; who finds it in the
// future waits. What was left unused stays for kBurst, so that a process that slept a little too
// long catches up.
//
// Worked example (tests/unit/measure/token_bucket_test.cc): at 100 MB/s 1 MB moves the time by
// 10 ms; taken at 0, the next 1 MB is had at 10 ms.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace comm_probe::measure::local {

struct alignas(64) TokenBucket {
  static constexpr std::int64_t kBurstNs = 2'000'000;
  std::atomic<std::int64_t> free_at;  // ns of the monotonic clock

  // When bytes may be taken: `now` or before where that is at once.
  std::int64_t ready_at() const { return free_at.load(std::memory_order_relaxed); }
  // False where it is not ready.
  bool take(std::int64_t now, std::int64_t cost) {
    std::int64_t seen = free_at.load(std::memory_order_relaxed);
    do {
      if (seen > now) return false;
    } while (!free_at.compare_exchange_weak(seen, std::max(seen, now - kBurstNs) + cost));
    return true;
  }
};

}  // namespace comm_probe::measure::local
