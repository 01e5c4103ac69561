#include "diagnose/topo_gpu_rules.h"

#include <fmt/format.h>

#include "core/finding_table.h"

namespace comm_probe::diagnose {

using core::Confidence;
using core::Finding;
using topology::Survey;
using Kind = topology::SurveyDevice::Kind;

RuleAnswer fabric_ready(const Survey& survey) {
  RuleAnswer answer;
  bool is_known = false;
  for (const topology::GpuFacts& gpu : survey.facts.gpus) {
    if (gpu.fabric_state.empty()) continue;
    is_known = true;
    if (gpu.fabric_state == "completed" || gpu.fabric_state == "not supported") continue;
    Finding finding = core::make_finding(
        "topo.fabric-not-ready",
        fmt::format("the NVLink fabric of {} is in state \"{}\", expected \"completed\"",
                    fmt::format("GPU{}", gpu.index), gpu.fabric_state));
    finding.evidence = {gpu.from};
    finding.confidence = Confidence::kCertain;
    finding.next = {"systemctl status nvidia-fabricmanager", "nvidia-smi -q | grep -A4 Fabric"};
    answer.findings.push_back(std::move(finding));
    for (const int device : survey.of(Kind::kGpu))
      if (!gpu.bus_id.empty() && survey.device(device).bus_id == gpu.bus_id)
        answer.blamed.push_back({device, Blame::Part::kNvlink});
  }
  if (!is_known) return {.unknown = "it shows no fabric state (the driver of this machine)"};
  return answer;
}

RuleAnswer gdr_possible(const Survey& survey) {
  if (survey.of(Kind::kGpu).empty()) return {.idle = "no GPU"};
  if (survey.facts.rdma_ports.empty())
    return survey.facts.empty()
               ? RuleAnswer{.unknown = "it shows no kernel modules (this machine itself)"}
               : RuleAnswer{.idle = "no RDMA port"};
  const auto& peermem = survey.facts.peermem;
  const auto& open = survey.facts.open_driver;
  if ((peermem && peermem->value) || (open && open->value)) return {};
  if (!peermem || !open) return {.unknown = "it shows no kernel modules (this machine itself)"};
  Finding finding = core::make_finding(
      "topo.gdr-no-module",
      "neither nvidia_peermem nor the open GPU driver (DMA-BUF) is there: no GPUDirect RDMA");
  finding.evidence = {peermem->from, open->from};
  finding.confidence = Confidence::kLikely;
  finding.next = {"modprobe nvidia_peermem", "cat /proc/driver/nvidia/version"};
  return {.findings = {std::move(finding)}};
}

}  // namespace comm_probe::diagnose
