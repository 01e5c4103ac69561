#include "diagnose/topo_policy.h"

#include <fmt/format.h>

#include "core/finding_table.h"
#include "diagnose/topo_rules.h"
#include "nccl/direct_talk.h"
#include "nccl/rails.h"
#include "topology/job_machine.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::Reach;
using topology::PathType;
using topology::Survey;

std::string gpu_name(const Reach& reach, int gpu) {
  return reach.machine.device_name(reach.gpu_node(gpu));
}

core::Evidence evidence(const Survey& survey, const Reach& reach, int gpu, int net) {
  const topology::Path path = reach.gpu_to_net(gpu, net);
  return {survey.source, reach.machine.node(reach.gpu_node(gpu)).line,
          fmt::format("{} - {}: {}", gpu_name(reach, gpu),
                      reach.machine.device_name(reach.net_node(net)), path_type_name(path.type))};
}

RuleAnswer nic_on_same_node(const Survey& survey, const std::vector<Reach>& domains,
                            const nccl::Rails& rails) {
  if (domains.front().nets() == 0) return {.unknown = "NICs"};
  if (domains.front().machine.count(topology::NodeType::kCpu) < 2 && domains.size() == 1)
    return {.idle = "one NUMA node"};
  std::string names;
  int count = 0;
  RuleAnswer answer;
  std::vector<core::Evidence> lines;
  for (const nccl::RailOfGpu& own : rails.gpus) {
    const Reach& reach = domains[static_cast<std::size_t>(own.domain)];
    if (!own.net || reach.gpu_to_net(own.gpu, *own.net).type != PathType::kSys) continue;
    names += (names.empty() ? "" : " ") + gpu_name(reach, own.gpu);
    if (lines.empty()) lines.push_back(evidence(survey, reach, own.gpu, *own.net));
    ++count;
  }
  if (count == 0) return answer;
  Finding finding = core::make_finding(
      "topo.nic-other-numa",
      fmt::format(
          "{} of {} GPUs ({}) get{} a NIC on another NUMA node: their network traffic crosses "
          "the link between the CPUs",
          count, rails.gpus.size(), names, count == 1 ? "s" : ""));
  finding.evidence = std::move(lines);
  finding.confidence = Confidence::kCertain;
  finding.next = {"nvidia-smi topo -m", "comm-probe explain SYS"};
  answer.findings = {std::move(finding)};
  return answer;
}

// As the job's ranks would find it: NICs whose port is down do not exist for NCCL.
topology::Machine job_machine(const Survey& survey) {
  topology::Machine machine = *survey.machine;
  for (const topology::SurveyDevice& device : survey.devices)
    if (device.node && (device.port_state == "DOWN" || device.port_state == "INIT") &&
        machine.node(*device.node).type() == topology::NodeType::kNet)
      std::get<topology::Net>(machine.node(*device.node).kind).dev.reset();
  if (survey.kind == "nccl-topology") return nccl::as_one_job(machine);
  topology::make_job(machine, survey.facts);
  return machine;
}

}  // namespace

core::Result<nccl::JobReach> reach_of_survey(const Survey& survey, int nodes) {
  const topology::Machine machine = job_machine(survey);
  nccl::Job job = nccl::implied_job(machine);
  job.nodes = nodes;
  job.refused = nccl::refused_pairs(survey.facts);
  return nccl::reach_of_job(machine, nccl::read_settings({}), job);
}

void judge_job(const Survey& survey, const std::vector<nccl::Reach>& domains,
               TopoJudgement& judgement) {
  judgement.add("every GPU has its NIC on its own NUMA node",
                nic_on_same_node(survey, domains, nccl::rails_of(domains)));
}

}  // namespace comm_probe::diagnose
