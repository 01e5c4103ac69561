#include "diagnose/job_settings.h"

#include <algorithm>

#include "diagnose/log_plan.h"
#include "diagnose/log_rules.h"
#include "diagnose/nccl_env.h"

namespace comm_probe::diagnose {
namespace {

// The setting that a finding is about stands in its evidence or in its summary.
const nccl::LogSetting* setting_of(const core::Finding& finding, const nccl::DebugLog& log) {
  for (const nccl::LogSetting& setting : log.settings)
    for (const core::Evidence& evidence : finding.evidence)
      if (evidence.text.starts_with(setting.name + "=")) return &setting;
  for (const nccl::LogSetting& setting : log.settings)
    if (finding.summary.find(setting.name) != std::string::npos) return &setting;
  return nullptr;
}

}  // namespace

std::vector<core::Finding> judge_log_settings(const nccl::DebugLog& log) {
  EnvFacts facts;
  facts.sources.environment_name = "log";
  facts.sources.environment = environment_of(log);
  facts.settings = nccl::settings_in_force(facts.sources);
  facts.version = log.version().value_or(topology::NcclVersion{});
  std::vector<core::Finding> findings;
  for (core::Finding& finding : judge_nccl_env(facts)) {
    const nccl::LogSetting* setting = setting_of(finding, log);
    if (setting == nullptr || finding.severity == core::Severity::kInfo) continue;
    finding.evidence = {log_evidence(log, setting->first)};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace comm_probe::diagnose
