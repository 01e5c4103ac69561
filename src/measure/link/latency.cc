#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

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

core::Result<Latency> time_wake(const std::vector<int>& pair, const BlockPlan& plan) {
  return time_ping_pong(pair, plan, 50, store_and_wake,
                        [](Member&, Flag& flag, std::uint32_t value) { sleep_until(flag, value); });
}

core::Result<core::Duration> measure_flag(const std::vector<int>& pair) {
  const auto latency = time_flag(pair, {.blocks = 15});
  if (!latency) return latency.error();
  return core::Duration::from_seconds(latency->seconds.median);
}

}  // namespace comm_probe::measure
