// Where the job's own messages lie: on the curves of the pile (past the knee? near the plateau?),
// in NCCL's choice, and beside what the benchmark takes for the same size.
//
//   all_reduce of 25 MiB: 73 % of the plateau on the curve of 8 ranks (half of it at 9.6 MB), 48 %
//   on that of 64 ranks (half at 28.8 MB); NCCL takes NVLSTree Simple there, Ring 1.58 times as
//   long
//   -> job.message-on-curve (information)
//
//   kernels of 25 MiB take 2.3 ms in the median, the benchmark 162 us on as many ranks
//   -> the same finding: most of a kernel is waiting, no link is slow
#pragma once

#include <vector>

#include "diagnose/diagnose.h"
#include "diagnose/plan_price.h"
#include "diagnose/reading_judgement.h"
#include "torch/trace.h"

namespace comm_probe::diagnose {

// All calls of one size of one operation on groups of one size.
struct JobMessage {
  model::Op op = model::Op::kAllReduce;
  core::Bytes bytes = {};
  int ranks = 0;
  core::Duration median = {};  // of the kernels of all given ranks, waiting included
  core::Duration total = {};
  std::size_t kernels = 0;
};
// The most expensive first.
std::vector<JobMessage> messages_of(const std::vector<torch::Trace>& traces);

// `pricer` may be null: then NCCL's choice is not said.
Judgement judge_messages(const std::vector<JobMessage>& messages,
                         const std::vector<JudgedReading>& readings, const JobPricer* pricer);

}  // namespace comm_probe::diagnose
