#include "cli/nccl_judgement.h"

#include "diagnose/nccl_plan.h"
#include "nccl/modelled_settings.h"

namespace comm_probe::cli {

diagnose::Judgement judge_job(const NcclJob& job, const nccl::JobPlan& plan) {
  diagnose::Judgement judgement;
  judgement.caveats = job.caveats;
  judgement.add({.caveats = diagnose::version_caveats(job.version)});
  judgement.add(diagnose::judge_given_settings(job.environment, job.version));
  judgement.add({.findings = diagnose::judge_plan(
                     plan, nccl::read_channel_settings(job.environment, job.version))});
  return judgement;
}

std::vector<std::string> modelled_settings(const NcclJob& job) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : job.environment)
    if (nccl::is_modelled(name) && !value.empty()) settings.push_back(name + "=" + value);
  return settings;
}

NcclJob without_settings(const NcclJob& job) {
  NcclJob free = job;
  free.environment.clear();
  return free;
}

}  // namespace comm_probe::cli
