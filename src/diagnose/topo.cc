#include "diagnose/topo.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "diagnose/topo_fact_rules.h"
#include "diagnose/topo_gpu_rules.h"
#include "diagnose/topo_interface_rules.h"
#include "diagnose/topo_nic_rules.h"
#include "diagnose/topo_port_rules.h"

namespace comm_probe::diagnose {
namespace {

struct Rule {
  const char* what;
  RuleAnswer (*apply)(const topology::Survey&);
  bool is_named_anyway = true;  // also where the source shows nothing of what it asks
};
constexpr Rule kRules[] = {
    {"the file shows the GPUs themselves", elements_present},
    {"every GPU has the NVLinks that the others have", nvlink_complete},
    {"every NVLink pair has the same number of links", nvlink_even},
    {"every GPU reaches a NIC", nic_reached},
    {"a NIC without a CPU in between (PXB or nearer)", nic_near},
    {"a NIC of its own for every GPU", nic_shared},
    {"as many NICs in every place as in the others", nics_complete},
    {"NIC ports fit their slots", nic_fits_slot},
    {"NIC ports run at the rate of the others", ports_alike},
    {"NICs can do GPUDirect RDMA as the others can", gdr_alike},
    {"GPUs and switches have slots alike", slots_alike},
    {"the PCIe tree is visible", tree_visible},
    {"PCIe links run at what both ends can do", links_at_full},
    {"all NVLinks are active", nvlinks_active},
    {"the driver allows P2P", driver_allows_peers},
    {"switches pass peer traffic (ACS)", switches_pass_peers},
    {"the IOMMU does not translate", iommu_passes},
    {"RDMA ports are active", ports_ready},
    {"interfaces that are set up have a carrier", interfaces_linked, false},
    {"interfaces alike have one MTU", mtus_alike, false},
    {"bonds run on all their links", bonds_whole, false},
    {"RoCE is lossless or backs off (PFC, ECN)", roce_protected},
    {"the GID of RoCE is routable", gid_usable},
    {"memory can be locked for RDMA", memory_lockable},
    {"the NVLink fabric is ready", fabric_ready},
    {"GPUDirect RDMA has its kernel module", gdr_possible},
};

std::string outcome_of(const RuleAnswer& answer) {
  if (answer.unknown) return "not known from this source: " + *answer.unknown;
  if (answer.idle) return "does not apply: " + *answer.idle;
  if (answer.findings.empty()) return "fine";
  return answer.findings.front().severity == core::Severity::kInfo ? "see above" : "wrong";
}

}  // namespace

void TopoJudgement::add(const std::string& what, const RuleAnswer& answer) {
  const std::string outcome = outcome_of(answer);
  rules.push_back({what, outcome});
  checked.push_back({{"rule", what}, {"outcome", outcome}});
  findings.insert(findings.end(), answer.findings.begin(), answer.findings.end());
  blamed.insert(blamed.end(), answer.blamed.begin(), answer.blamed.end());
  caveats.insert(caveats.end(), answer.caveats.begin(), answer.caveats.end());
}

TopoJudgement judge_topology(const topology::Survey& survey) {
  TopoJudgement judgement;
  for (const Rule& rule : kRules) {
    const RuleAnswer answer = rule.apply(survey);
    const bool is_asked = !survey.facts.links.empty() && !answer.idle;
    if (rule.is_named_anyway || is_asked) judgement.add(rule.what, answer);
  }
  const bool is_judged =
      std::any_of(judgement.rules.begin(), judgement.rules.end(), [](const CheckedRule& rule) {
        return !rule.outcome.starts_with("not known") && !rule.outcome.starts_with("does not");
      });
  if (!is_judged && survey.roads.empty() && judgement.caveats.empty())
    judgement.caveats.push_back(core::make_caveat(
        "topo.nothing-judged", "facts that a rule could judge in " + survey.source,
        "nothing was checked; `comm-probe topo check --help` lists what tells more"));
  if (survey.is_whole_machine() && survey.of(topology::SurveyDevice::Kind::kGpu).empty())
    judgement.caveats.push_back(core::make_caveat(
        "topo.no-gpu", "a GPU in " + survey.source,
        "nothing about GPUs was checked; a machine that should have some has lost them: dmesg | "
        "grep -i xid, lspci | grep -i nvidia"));
  return judgement;
}

std::string TopoJudgement::verdict() const {
  const auto count = [&](core::Severity severity) {
    return std::count_if(findings.begin(), findings.end(), [&](const core::Finding& finding) {
      return finding.severity == severity;
    });
  };
  const auto errors = count(core::Severity::kError);
  const auto warnings = count(core::Severity::kWarning);
  if (errors + warnings == 0) return "nothing wrong found";
  std::string text;
  if (errors > 0) text = fmt::format("{} error{}", errors, errors == 1 ? "" : "s");
  if (warnings > 0)
    text +=
        fmt::format("{}{} warning{}", text.empty() ? "" : ", ", warnings, warnings == 1 ? "" : "s");
  return text;
}

std::vector<std::pair<std::string, std::string>> TopoJudgement::checked_rows() const {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const CheckedRule& rule : rules) rows.emplace_back(rule.what, rule.outcome);
  return rows;
}

}  // namespace comm_probe::diagnose
