#include "cli/nccl_judgement.h"

#include <utility>

#include "diagnose/nccl_plan.h"
#include "nccl/modelled_settings.h"

namespace comm_probe::cli {
namespace {

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  for (T& one : more) all.push_back(std::move(one));
}

}  // namespace

diagnose::PlanJudgement judge_job(const NcclJob& job, const nccl::JobPlan& plan) {
  diagnose::PlanJudgement judgement;
  judgement.caveats = job.caveats;
  append(judgement.caveats, diagnose::version_caveats(job.version));
  diagnose::PlanJudgement given = diagnose::judge_given_settings(job.environment, job.version);
  append(judgement.caveats, std::move(given.caveats));
  append(judgement.findings, std::move(given.findings));
  append(judgement.findings,
         diagnose::judge_plan(plan, nccl::read_channel_settings(job.environment, job.version)));
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
