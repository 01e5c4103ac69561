#include "cli/topo_policy.h"

#include <fmt/format.h>

#include "cli/policy_view.h"
#include "core/finding_table.h"
#include "diagnose/topo_policy.h"
#include "nccl/rails.h"

namespace comm_probe::cli {
namespace {

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
  const auto reached = diagnose::reach_of_survey(survey, nodes);
  if (!reached) return add_refusal(reached.error(), document);
  const auto domains = nccl::every_domain(*reached);
  if (!domains) return add_refusal(domains.error(), document);
  diagnose::judge_job(survey, *domains, judgement);
  const auto lines = policy_lines(*reached, nccl::direct_talk(survey.facts));
  if (!lines) return add_refusal(lines.error(), document);
  document.result["policy"] = policy_json(*lines);
  const std::string of = fmt::format("NCCL 2.28, {} node{}", nodes, nodes == 1 ? "" : "s alike");
  document.result["policy_of"] = of;
  document.body.emplace_back(core::Heading{
      fmt::format("What NCCL 2.28 makes of it, {} node{}", nodes, nodes == 1 ? "" : "s alike")});
  document.body.emplace_back(policy_block(*lines));
}

}  // namespace comm_probe::cli
