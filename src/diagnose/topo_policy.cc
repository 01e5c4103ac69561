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

}  // namespace

void judge_job(const Survey& survey, const std::vector<nccl::Reach>& domains,
               TopoJudgement& judgement) {
  judgement.add("every GPU has its NIC on its own NUMA node",
                nic_on_same_node(survey, domains, nccl::rails_of(domains)));
}

}  // namespace comm_probe::diagnose
