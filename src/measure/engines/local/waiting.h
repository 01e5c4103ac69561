// Waiting for a word of shared memory to change, without a lock: spin, then yield, then sleep on a
// futex. With a core per rank the spin is long and nobody pays for a wake-up; with more ranks than
// cores it is short, and whoever writes a word looks whether somebody sleeps on it.
//
// Both sides keep this order, so that no wake-up is lost: the writer stores the word, then adds 0
// to `sleepers`; the waiter adds itself to `sleepers`, then reads the word again and sleeps.
// Whichever addition comes second sees what stood before the first: the writer the sleeper, or the
// waiter the word. (A fence would do the same, but the thread sanitizer does not know fences.) A
// sleep also ends by itself after kLongestSleepNs.
#pragma once

#include <atomic>
#include <cstdint>

namespace comm_probe::measure::local {

inline constexpr long kLongestSleepNs = 2'000'000;

struct WaitPolicy {
  int spins = 0;           // reads of the word with a pause between them
  int yields = 0;          // then sched_yield, reading after each
  bool must_wake = false;  // writers look for sleepers (more ranks than cores)
};
// `cores` that the ranks may run on. The numbers stand in waiting.cc with their reason.
WaitPolicy wait_policy(int ranks, int cores);

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How many sleep for something that one rank will write.
using Sleepers = std::atomic<std::uint32_t>;

// a is at or after b, for counters that wrap around.
inline bool reached(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) >= 0;
}

// The slow part: yields, then sleeps, until `word` reaches `wanted`.
void wait_slowly(const std::atomic<std::uint32_t>& word, std::uint32_t wanted,
                 const WaitPolicy& policy, Sleepers& sleepers);

inline void wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t wanted,
                     const WaitPolicy& policy, Sleepers& sleepers) {
  for (int spin = 0; spin <= policy.spins; ++spin) {
    if (reached(word.load(std::memory_order_acquire), wanted)) return;
    relax();
  }
  wait_slowly(word, wanted, policy, sleepers);
}

void wake_all(const std::atomic<std::uint32_t>& word);

// After a store to `word` by the rank that `sleepers` belongs to.
inline void wake_if_asleep(const std::atomic<std::uint32_t>& word, const WaitPolicy& policy,
                           Sleepers& sleepers) {
  if (!policy.must_wake) return;
  if (sleepers.fetch_add(0, std::memory_order_acq_rel) != 0) wake_all(word);
}

}  // namespace comm_probe::measure::local
