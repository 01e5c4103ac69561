// Why are the numbers wrong? Framework, program and arithmetic only: a network that damages a
// packet sends it again (InfiniBand and RoCE check every one). Facts in, findings out, for log,
// hang, trace and doctor.
//
//   log.nan-value          a NaN was found, and the rank that had it first
//   log.ranks-diverge      a reduced value was equal on all ranks, then not
//   log.algorithms-differ  two runs added in different orders (information)
//   hang.types-differ      one completed call, two data types
//   trace.tensor-touched   a tensor was used while its collective was under way
//
//   rank 0..2: grad_norm 0.8125 at step 40, rank 3: 0.9375, equal before
//   -> log.ranks-diverge, ranks {3}, "from step 40 on"
#pragma once

#include <vector>

#include "diagnose/diagnose.h"
#include "nccl/debug_log.h"
#include "torch/job.h"
#include "torch/number_lines.h"
#include "torch/trace.h"

namespace comm_probe::diagnose {

Judgement judge_numbers(const torch::NumberLines& lines);
Judgement judge_algorithms(const nccl::DebugLog& log);
// The log shows two runs and the algorithm of a call that both made.
bool shows_two_orders(const nccl::DebugLog& log);
Judgement judge_completed_types(const torch::Job& job);
Judgement judge_touched_tensors(const torch::Trace& trace);

}  // namespace comm_probe::diagnose
