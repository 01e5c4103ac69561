// Which of the timers fired, when the stall really began, and why it showed only then.
//
//   watchdog   op time-out of the group, counted from the enqueue of the work, not from its start
//   heartbeat  480 s without progress of the watchdog thread itself (600 s before PyTorch 2.5)
//   InfiniBand NCCL_IB_TIMEOUT 20: 4.096 us x 2^20 = 4.3 s, x 7 retries = 30 s, then status 12
//   gloo, store  their own limits
// Sources: spec flight-recorder 1.2 and 3; InfiniBand specification, local ACK time-out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/hang.h"
#include "torch/job_lines.h"

namespace comm_probe::diagnose {

struct FiredTimer {
  std::string name = {};   // "op timeout"
  std::string limit = {};  // "15 s"
  std::string what = {};   // "rank 3: all_reduce 32, after 15.09 s"
  core::Evidence evidence = {};
};

struct TimeoutStory {
  std::vector<FiredTimer> timers = {};
  std::optional<std::int64_t> stall_began_ns = {};  // clock of the host of `stall_rank`
  int stall_rank = -1;
  std::optional<double> seconds_to_fire = {};  // from the stall to the first line
  std::vector<std::string> why = {};
};
TimeoutStory explain_timeout(const HangJudgement& judgement, const torch::Job& job,
                             const torch::JobLines& lines);

}  // namespace comm_probe::diagnose
