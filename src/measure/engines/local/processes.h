// Ranks as processes of this machine: fork one per rank, run, wait for all, and say plainly when
// one of them died or stands still (standstill.h). Children die with the parent (PR_SET_PDEATHSIG);
// when one dies, stands still, or the user interrupts, the others are killed and reaped at once, so
// that nothing is left behind.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "measure/engines/local/standstill.h"

namespace comm_probe::measure::local {

struct Died {
  int rank = 0;
  int signal = 0;  // 0: it exited with `status`
  int status = 0;
  bool was_started = true;  // false: fork failed, `status` is errno
  std::optional<Standstill::Rank> still =
      {};  // it did not die, it was ended because it stood still
  // "rank 3 was killed by signal 9 (Killed)"
  std::string sentence() const;
};

struct Ended {
  std::vector<int> processes = {};  // by rank
  std::optional<Died> died = {};
  int interrupted_by = 0;  // SIGINT or SIGTERM that the user sent; 0: none
  bool ok() const { return !died && interrupted_by == 0; }
};

// CPUs that this process may run on.
std::vector<int> allowed_cpus();

// One CPU for each rank, in turn where there are fewer than ranks (4 ranks on 2 cores, all_reduce
// of 8 B: 4.4 us left to the scheduler, 2.2 us bound); or all for all, where a rank has threads.
enum class Binding { kOneCpu, kNone };

// How the parent treats them.
struct Care {
  StandstillLimit limit = {};
  Binding binding = Binding::kOneCpu;
  std::function<void()> look = [] {};  // called about every 100 ms
};

// Runs `body(rank)` in a process of its own for every rank and returns when all have ended.
Ended run_ranks(int ranks, const std::function<void(int)>& body, const Care& care = {});

// Ends the calling process by SIGALRM when `limit` is over; zero: never.
void end_after(core::Duration limit);

}  // namespace comm_probe::measure::local
