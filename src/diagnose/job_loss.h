// How much of the time is lost in traces, and how much of that each finding accounts for.
//
//   lost = exposed communication + idle time of the device
//
// of the rank that loses most, per step (what a finding about one step accounts for), and of all
// ranks together (what a straggler accounts for: the waiting of the others).
//
// Worked example (tests/unit/diagnose/job_loss_test.cc): two ranks of 2 steps each lose 4 and 6 ms:
// 3 ms per step, 10 ms together; a synchronise that costs 2 ms per step explains 2 of the 3 ms.
#pragma once

#include <optional>
#include <vector>

#include "core/finding.h"
#include "torch/breakdown.h"

namespace comm_probe::diagnose {

struct JobLoss {
  core::Duration per_step = {};  // of the rank that loses most
  core::Duration of_all_ranks = {};
};
// Nothing where no trace has device work.
std::optional<JobLoss> find_loss(const std::vector<torch::RankBreakdown>& ranks);

// Sets `explains` of the findings of traces that say a time.
void explain_loss(const JobLoss& loss, std::vector<core::Finding>& findings);

}  // namespace comm_probe::diagnose
