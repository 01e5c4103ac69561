// What `nccl plan` and `nccl choose` say beside their answer: caveats of the reading, of the
// release and of settings that are not modelled, findings on the settings and on the plan itself.
#pragma once

#include <vector>

#include "cli/nccl_job.h"
#include "diagnose/nccl_given.h"

namespace comm_probe::cli {

// Caveats and findings that both have; the plan is that of the job.
diagnose::Judgement judge_job(const NcclJob& job, const nccl::JobPlan& plan);

// The settings of --env that a plan without settings lacks: "NCCL_ALGO=Ring".
std::vector<std::string> modelled_settings(const NcclJob& job);
// The same job without them.
NcclJob without_settings(const NcclJob& job);

}  // namespace comm_probe::cli
