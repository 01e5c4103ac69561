// What NCCL's log says of RDMA: completions with an error, connections and memory that are refused,
// ports that change. Each judges one problem of its family; the causes that may stand behind a
// completion are named with what proves them.
//
//   "Got completion ... status=12 ... hca mlx5_3" -> log.ib-no-answer; on RoCE possible: the GID, a
//   cable, the other process
#pragma once

#include "diagnose/diagnose.h"
#include "nccl/debug_log.h"

namespace comm_probe::diagnose {

core::Finding judge_completion(const nccl::DebugLog& log, const nccl::LogProblem& problem);
core::Finding judge_connection(const nccl::DebugLog& log, const nccl::LogProblem& problem);
core::Finding judge_registration(const nccl::DebugLog& log, const nccl::LogProblem& problem);
core::Finding judge_queue(const nccl::DebugLog& log, const nccl::LogProblem& problem);
core::Finding judge_port_event(const nccl::DebugLog& log, const nccl::LogProblem& problem);

// Of a completion: a finding of each id that is not there yet.
void add_possible_causes(const nccl::DebugLog& log, const nccl::LogProblem& problem,
                         Judgement& judgement);

}  // namespace comm_probe::diagnose
