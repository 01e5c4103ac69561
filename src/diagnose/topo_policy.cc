#include "diagnose/topo_policy.h"

#include <fmt/format.h>

#include "core/finding_table.h"
#include "diagnose/topo_rules.h"
#include "nccl/rails.h"

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

RuleAnswer nic_on_same_node(const Survey& survey, const Reach& reach, const nccl::Rails& rails) {
  if (reach.nets() == 0) return {.unknown = "NICs"};
  if (reach.cpus() < 2) return {.idle = "one NUMA node"};
  std::string names;
  int count = 0;
  RuleAnswer answer;
  std::vector<core::Evidence> lines;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    const auto net = rails.net_of_gpu[static_cast<std::size_t>(gpu)];
    if (!net || reach.gpu_to_net(gpu, *net).type != PathType::kSys) continue;
    names += (names.empty() ? "" : " ") + gpu_name(reach, gpu);
    if (lines.empty()) lines.push_back(evidence(survey, reach, gpu, *net));
    ++count;
  }
  if (count == 0) return answer;
  Finding finding = core::make_finding(
      "topo.nic-other-numa",
      fmt::format(
          "{} of {} GPUs ({}) get a NIC on another NUMA node: their network traffic crosses "
          "the link between the CPUs",
          count, reach.gpus(), names));
  finding.evidence = std::move(lines);
  finding.confidence = Confidence::kCertain;
  finding.next = {"nvidia-smi topo -m", "comm-probe explain SYS"};
  answer.findings = {std::move(finding)};
  return answer;
}

}  // namespace

void judge_job(const Survey& survey, const nccl::JobReach& job, TopoJudgement& judgement) {
  const nccl::Rails rails = nccl::rails_of(job.reach);
  judgement.add("every GPU has its NIC on its own NUMA node",
                nic_on_same_node(survey, job.reach, rails));
}

}  // namespace comm_probe::diagnose
