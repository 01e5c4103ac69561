// Was the job moving when its dumps were taken? A dump can be asked for by the pipe at any time,
// and then shows calls that are about to end. How old the oldest open call was tells it:
//
//   by the file   the time of the file is at most that late; less than half of the time-out: young
//   by the log    "preparing to dump debug info" has a clock of the same host (local time: the
//                 difference is taken modulo a quarter of an hour, the step of time zones)
//
// With logs of all ranks, none of which tells of trouble, and young calls only, this is no hang.
#pragma once

#include "diagnose/hang.h"
#include "diagnose/hang_state.h"
#include "torch/job_lines.h"

namespace comm_probe::diagnose {

bool is_young_by_file(const HangState& state);
bool is_young_by_logs(const HangState& state, const torch::JobLines& lines);
// Waiting alone is no hang yet; ranks that disagree hang however young the call is.
HangVerdict as_moving(HangVerdict verdict, const std::string& why);

}  // namespace comm_probe::diagnose
