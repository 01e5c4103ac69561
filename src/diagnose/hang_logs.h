// What the logs add to the dumps, and what they say alone. A log can turn "no dump" into "ended
// with exit code 7", "nothing open" into "blocked while a communicator is made", and "no difference
// visible" into "completion status 12 of this peer".
//
//   rank 0: nothing open in its dump, its log warns of an unbatched send in lazy mode
//   -> p2p_unpaired, culprit 0: the communicator of the pair is never finished
#pragma once

#include "diagnose/hang.h"
#include "torch/job_lines.h"

namespace comm_probe::diagnose {

// Refines what the dumps say.
void add_logs(HangJudgement& judgement, const torch::Job& job, const torch::JobLines& lines);
// Without any dump.
HangJudgement judge_logs(const torch::JobLines& lines);
// Findings that stand beside the verdict: a group whose time-out is shorter than that of others.
std::vector<core::Finding> findings_beside(const HangVerdict& verdict, const torch::Job& job,
                                           const torch::JobLines& lines);

}  // namespace comm_probe::diagnose
