#include "cli/topo_policy.h"

#include <fmt/format.h>

#include "cli/policy_view.h"
#include "core/finding_table.h"
#include "diagnose/topo_policy.h"
#include "nccl/rails.h"
#include "topology/job_machine.h"

namespace comm_probe::cli {
namespace {

// As the job's ranks would find it: NICs whose port is down do not exist for NCCL.
topology::Machine job_machine(const topology::Survey& survey) {
  topology::Machine machine = *survey.machine;
  for (const topology::SurveyDevice& device : survey.devices)
    if (device.node && (device.port_state == "DOWN" || device.port_state == "INIT") &&
        machine.node(*device.node).type() == topology::NodeType::kNet)
      std::get<topology::Net>(machine.node(*device.node).kind).dev.reset();
  if (survey.kind == "nccl-topology") return nccl::as_one_job(machine);
  topology::make_job(machine, survey.facts);
  return machine;
}

core::Result<nccl::JobReach> reach_of(const topology::Survey& survey, int nodes) {
  const topology::Machine machine = job_machine(survey);
  nccl::Job job = nccl::implied_job(machine);
  job.nodes = nodes;
  job.refused = nccl::refused_pairs(survey.facts);
  return nccl::reach_of_job(machine, nccl::read_settings({}), job);
}

void add_refusal(const core::Error& error, core::Document& document) {
  document.caveats.push_back(core::make_caveat(
      "topo.plan-refused", error.one_line(),
      "what NCCL makes of the machine, rails and the NUMA nodes of NICs are not judged"));
}

}  // namespace

void add_policy(const topology::Survey& survey, int nodes, diagnose::TopoJudgement& judgement,
                core::Document& document) {
  if (!survey.machine || survey.of(topology::SurveyDevice::Kind::kGpu).empty()) return;
  if (survey.is_template()) return;
  const auto reached = reach_of(survey, nodes);
  if (!reached) return add_refusal(reached.error(), document);
  const auto domains = nccl::every_domain(*reached);
  if (!domains) return add_refusal(domains.error(), document);
  diagnose::judge_job(survey, *domains, judgement);
  const auto lines = policy_lines(*reached, nccl::direct_talk(survey.facts));
  if (!lines) return add_refusal(lines.error(), document);
  document.result["policy"] = policy_json(*lines);
  document.body.emplace_back(core::Heading{
      fmt::format("What NCCL 2.28 makes of it, {} node{}", nodes, nodes == 1 ? "" : "s alike")});
  document.body.emplace_back(policy_block(*lines));
}

}  // namespace comm_probe::cli
