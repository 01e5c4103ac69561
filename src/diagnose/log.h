// What is wrong in a job, as far as NCCL's debug log proves it. Facts come from nccl::DebugLog.
//
// The first warning before the chain of error codes is the cause; warnings that only say that a
// peer went away are follow-ups and are counted, not blamed. What the log cannot prove (ACS, kernel
// modules, a dead host) stands as a possible cause with what would prove it. A healthy log gives
// nothing, however many harmless warnings it has.
//
//   "Duplicate GPU detected : rank 2 and rank 0 ..." -> log.duplicate-gpu, certain
//   "... with error 4, ... vendor err 81"            -> log.ib-local-protection, log.possible-acs
#pragma once

#include <map>
#include <string>

#include "diagnose/diagnose.h"
#include "nccl/debug_log.h"
#include "torch/job_lines.h"

namespace comm_probe::diagnose {

// Hosts that other artifacts join have one number; a host of which none speaks is not in it.
using HostGroups = std::map<std::string, int>;

// `job`: lines of PyTorch, the kernel and launchers, and Python tracebacks in the same texts. Hosts
// are compared where a communicator or `known` joins them, or one text holds the lines of both.
Judgement judge_log(const nccl::DebugLog& log, const torch::JobLines& job = {},
                    const HostGroups& known = {});

// One sentence for the reader in a hurry.
std::string log_verdict(const nccl::DebugLog& log, const Judgement& judgement);

}  // namespace comm_probe::diagnose
