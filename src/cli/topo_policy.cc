#include "cli/topo_policy.h"

#include <fmt/format.h>

#include "cli/policy_view.h"
#include "core/finding_table.h"
#include "diagnose/topo_policy.h"
#include "nccl/rails.h"

namespace comm_probe::cli {
void add_policy(const topology::Survey& survey, int nodes, diagnose::TopoJudgement& judgement,
                core::Document& document) {
  if (!survey.machine || survey.of(topology::SurveyDevice::Kind::kGpu).empty()) return;
  if (survey.is_template()) return;
  const topology::Machine machine = nccl::as_one_job(*survey.machine);
  nccl::Job job = nccl::implied_job(machine);
  job.nodes = nodes;
  const auto reached = nccl::reach_of_job(machine, nccl::read_settings({}), job);
  if (!reached) {
    document.caveats.push_back(core::make_caveat("topo.plan-refused", reached.error().one_line(),
                                                 "rails and NUMA nodes are not judged", false));
    return;
  }
  diagnose::judge_job(survey, *reached, judgement);
  const std::vector<PolicyLine> lines = policy_lines(*reached);
  document.result["policy"] = policy_json(lines);
  document.body.emplace_back(core::Heading{
      fmt::format("What NCCL 2.28 makes of it, {} node{}", nodes, nodes == 1 ? "" : "s alike")});
  document.body.emplace_back(policy_block(lines));
}

}  // namespace comm_probe::cli
