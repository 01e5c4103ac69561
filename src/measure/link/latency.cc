#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "measure/link/crew.h"
#include "measure/link/phases.h"

namespace comm_probe::measure {
namespace {

void sleep_until(Flag& flag, std::uint32_t value) {
  while (flag.value.load(std::memory_order_acquire) != value)
    ::syscall(SYS_futex, &flag.value, FUTEX_WAIT, value - 1, nullptr, nullptr, 0);
}

void store_and_wake(Flag& flag, std::uint32_t value) {
  flag.value.store(value, std::memory_order_release);
  ::syscall(SYS_futex, &flag.value, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// `count` round trips: member 0 sends on flag 0, member 1 answers on flag 1.
template <class Send, class Receive>
void ping_pong(Member& member, std::uint32_t from, int count, Send send, Receive receive) {
  for (std::uint32_t i = from + 1; i <= from + static_cast<std::uint32_t>(count); ++i) {
    if (member.index() == 0) {
      send(member.flag(0), i);
      receive(member.flag(1), i);
    } else {
      receive(member.flag(0), i);
      send(member.flag(1), i);
    }
  }
}

template <class Send, class Receive>
core::Result<Latency> time_ping_pong(const std::vector<int>& pair, const BlockPlan& plan,
                                     int rounds, Send send, Receive receive) {
  const auto body = [&](Member& member) {
    std::uint32_t sent = 0;
    for (int block = 0; block <= plan.blocks; ++block) {
      member.meet();
      const double start = now_seconds();
      ping_pong(member, sent, rounds, send,
                [&](Flag& flag, std::uint32_t value) { receive(member, flag, value); });
      sent += static_cast<std::uint32_t>(rounds);
      if (member.index() == 0 && block > 0)  // the first block warms up
        member.record(0, (now_seconds() - start) / rounds / 2);
    }
  };
  const auto records = run_crew({.cpus = pair}, body);
  if (!records) return records.error();
  return Latency{summarize(records->of(0, 0)), records->preemptions};
}

}  // namespace

core::Result<Latency> time_flag(const std::vector<int>& pair, const BlockPlan& plan) {
  const bool is_alone = pair[0] == pair[1];
  const int rounds = is_alone ? 20 : 1000;
  return time_ping_pong(
      pair, plan, rounds,
      [](Flag& flag, std::uint32_t value) { flag.value.store(value, std::memory_order_release); },
      [](Member& member, Flag& flag, std::uint32_t value) { member.await(flag, value); });
}

// Member 0 waits until the other has surely gone to sleep, notes the time and wakes it; the other
// says when it is awake. Both read the same clock.
core::Result<Latency> time_wake(const std::vector<int>& pair, const BlockPlan& plan) {
  constexpr std::uint32_t kRounds = 20;
  constexpr double kFallsAsleep = 100e-6;
  const auto body = [&](Member& member) {
    auto* sent = reinterpret_cast<double*>(member.payload());
    double waking = 0;
    for (std::uint32_t i = 1; i <= kRounds * static_cast<std::uint32_t>(plan.blocks); ++i) {
      if (member.index() == 0) {
        const double ready = now_seconds() + kFallsAsleep;
        while (now_seconds() < ready) ::sched_yield();
        *sent = now_seconds();
        store_and_wake(member.flag(0), i);
        member.await(member.flag(1), i);
        continue;
      }
      sleep_until(member.flag(0), i);
      waking += now_seconds() - *sent;
      member.flag(1).value.store(i, std::memory_order_release);
      if (i % kRounds == 0) member.record(0, std::exchange(waking, 0.0) / kRounds);
    }
  };
  const auto records = run_crew({.cpus = pair, .shared_bytes = 64}, body);
  if (!records) return records.error();
  return Latency{summarize(records->of(1, 0)), records->preemptions};
}

core::Result<core::Duration> measure_flag(const std::vector<int>& pair) {
  const auto latency = time_flag(pair, {.blocks = 15});
  if (!latency) return latency.error();
  return core::Duration::from_seconds(latency->seconds.median);
}

}  // namespace comm_probe::measure
