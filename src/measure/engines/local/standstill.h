// Which rank does not run although it should? A rank of the local engine never rests long: it
// works, spins, yields, or sleeps at most 2 ms (waiting.h), so the kernel switches to it all the
// time. One that somebody stopped (SIGSTOP, a terminal, a freezer) is switched to no more, and
// every other rank waits for it for ever.
//
// Rule: in `looks` looks in a row, `every` apart, the rank was stopped (T) or asleep (S) and its
// context switches (/proc/PID/status) did not grow. Load cannot look like that: a rank that waits
// for a CPU is runnable (R), one that waits for a page is D. Looks are counted, not seconds: while
// the whole job is stopped (Ctrl-Z), the parent does not look. A rank under a debugger (t) is left
// alone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace comm_probe::measure::local {

struct StandstillLimit {
  int looks = 5;
  std::chrono::milliseconds every = std::chrono::seconds(1);
  // Of processes that may sleep for long (they wait for a device): only those that are stopped.
  bool only_stopped = false;
};

// What /proc/PID/status says of a process.
struct ProcessPulse {
  char state = '?';                            // R S D T t Z
  std::optional<std::uint64_t> switches = {};  // voluntary and not; absent: not told
};
std::optional<ProcessPulse> read_pulse(const std::string& status);

class Standstill {
 public:
  struct Rank {
    int rank = 0;
    char state = 'T';
    std::chrono::milliseconds since = {};
  };
  explicit Standstill(StandstillLimit limit) : limit_(limit) {}
  // To be called often; looks only when it is time. The rank that stands still; pids of 0 or below
  // have ended.
  std::optional<Rank> look(const std::vector<pid_t>& pids);

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::optional<ProcessPulse> pulse = {};
    int still = 0;  // looks in a row
  };
  StandstillLimit limit_;
  std::vector<Seen> seen_ = {};
  Clock::time_point last_ = Clock::now();
};

}  // namespace comm_probe::measure::local
