#include "diagnose/nccl_env.h"

#include <fmt/format.h>

#include "diagnose/nccl_env_rules.h"

namespace comm_probe::diagnose {

using core::Finding;
using nccl::SettingEntry;
using nccl::SettingInForce;
using nccl::SettingProblem;
using nccl::SettingReading;

Finding env_finding(const char* id, const std::string& summary, const SettingInForce& setting) {
  Finding finding = core::make_finding(id, summary);
  finding.evidence.push_back(
      {setting.origin.source, setting.origin.line, setting.name + "=" + setting.value});
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

const SettingInForce* find_in_force(const EnvFacts& facts, std::string_view name) {
  for (const SettingInForce& setting : facts.settings)
    if (setting.name == name && !setting.value.empty()) return &setting;
  return nullptr;
}

void judge_names(const EnvFacts& facts, Findings& findings) {
  for (const SettingInForce& setting : facts.settings) {
    if (!setting.name.starts_with("NCCL_") || nccl::is_foreign_setting(setting.name)) continue;
    if (const SettingEntry* entry = nccl::find_setting(setting.name)) {
      if (entry->instead.empty()) continue;
      findings.push_back(env_finding(
          "nccl.env-obsolete",
          fmt::format("{}: {}; instead: {}", setting.name, entry->meaning, entry->instead),
          setting));
      continue;
    }
    if (setting.name.find_first_of(" \t") != std::string::npos) continue;  // a line, not a name
    const std::string near = nccl::nearest_setting(setting.name);
    if (near.empty()) {
      findings.push_back(env_finding(
          "nccl.env-name-unknown",
          fmt::format("{} is not known: of a plugin, or without effect", setting.name), setting));
      findings.back().confidence = core::Confidence::kPossible;
    } else {
      findings.push_back(
          env_finding("nccl.env-misspelt",
                      fmt::format("{} is no setting of NCCL and has no effect; did you mean {}?",
                                  setting.name, near),
                      setting));
      findings.back().confidence = core::Confidence::kLikely;
      findings.back().next = {"comm-probe nccl env --explain " + near};
    }
  }
}

namespace {

Finding number_finding(const SettingInForce& setting, const SettingReading& reading) {
  return env_finding("nccl.env-not-a-number",
                     reading.problem == SettingProblem::kNotANumber
                         ? fmt::format("{}={} counts as 0: '{}' is no number", setting.name,
                                       setting.value, setting.value)
                         : fmt::format("{}={} counts as {}: '{}' is ignored", setting.name,
                                       setting.value, reading.effective, reading.offender),
                     setting);
}

Finding word_finding(const SettingEntry& entry, const SettingInForce& setting,
                     const SettingReading& reading) {
  return env_finding("nccl.env-word-unknown",
                     fmt::format("{}: '{}' is not accepted and ignored; expected {}", setting.name,
                                 reading.offender, entry.legal),
                     setting);
}

Finding range_finding(const SettingEntry& entry, const SettingInForce& setting) {
  return env_finding("nccl.env-out-of-range",
                     fmt::format("{}={} is outside of {}", setting.name, setting.value,
                                 entry.legal.empty() ? "64-bit numbers" : entry.legal),
                     setting);
}

}  // namespace

void judge_values(const EnvFacts& facts, Findings& findings) {
  for (const SettingInForce& setting : facts.settings) {
    const SettingEntry* entry = nccl::find_setting(setting.name);
    if (entry == nullptr || setting.value.empty()) continue;
    const SettingReading reading = nccl::read_setting(*entry, setting.value);
    switch (reading.problem) {
      case SettingProblem::kNone:
        continue;
      case SettingProblem::kNotANumber:
      case SettingProblem::kTextAfterNumber:
        findings.push_back(number_finding(setting, reading));
        break;
      case SettingProblem::kOutOfRange:
        findings.push_back(range_finding(*entry, setting));
        break;
      case SettingProblem::kUnknownWord:
        findings.push_back(word_finding(*entry, setting, reading));
        break;
    }
    findings.back().next = {"comm-probe nccl env --explain " + setting.name};
  }
  const SettingInForce* least = find_in_force(facts, "NCCL_MIN_NCHANNELS");
  const SettingInForce* most = find_in_force(facts, "NCCL_MAX_NCHANNELS");
  if (least != nullptr && most != nullptr &&
      nccl::setting_number(least->value).value_or(0) >
          nccl::setting_number(most->value).value_or(64))
    findings.push_back(env_finding(
        "nccl.env-minimum-wins",
        fmt::format("NCCL_MIN_NCHANNELS={} is above NCCL_MAX_NCHANNELS={}; {} channels are made",
                    least->value, most->value, least->value),
        *least));
}

std::vector<Finding> judge_nccl_env(const EnvFacts& facts) {
  Findings findings;
  for (const auto rule : {judge_names, judge_values, judge_methods, judge_leftovers, judge_log,
                          judge_devices, judge_sources})
    rule(facts, findings);
  return findings;
}

}  // namespace comm_probe::diagnose
