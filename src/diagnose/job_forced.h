// What do the settings of the log cost the job? All that the plan models, together, on the machine
// of the pile, at the sizes that the job sends: nccl_choice.h judges, as for `nccl choose --env`.
//
//   NCCL_ALGO=Ring in the log, 32 DGX H100: 3.46x at 25 MB -> nccl.choice-forced
//   NCCL_ALGO=Ring NCCL_PROTO=Simple: Ring Simple is priced, not Ring with any protocol
//   NCCL_MAX_NCHANNELS=1 -> nccl.fewer-channels
// Named are those settings alone whose removal makes the time fall, and the figure is for exactly
// these left out, the others kept.
#pragma once

#include <vector>

#include "diagnose/job_messages.h"
#include "nccl/debug_log.h"

namespace comm_probe::diagnose {

// Of the largest communicator. `pricer` may be null: then nothing is said.
Judgement judge_forced_settings(const nccl::DebugLog& log, const std::vector<JobMessage>& messages,
                                const JobPricer* pricer);

}  // namespace comm_probe::diagnose
