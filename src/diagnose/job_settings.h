// What is wrong with the NCCL settings that a job's log shows, by the rules of `nccl env`, with the
// line of the log as evidence. Remarks about debugging and about this shell do not matter here.
#pragma once

#include <vector>

#include "core/finding.h"
#include "nccl/debug_log.h"

namespace comm_probe::diagnose {

std::vector<core::Finding> judge_log_settings(const nccl::DebugLog& log);

}  // namespace comm_probe::diagnose
