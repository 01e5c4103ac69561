#include "diagnose/nccl_env.h"

#include <fmt/format.h>

#include "diagnose/nccl_env_rules.h"
#include "nccl/channel_settings.h"

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

namespace {

void judge_known_name(const EnvFacts& facts, const SettingEntry& entry,
                      const SettingInForce& setting, Findings& findings) {
  if (!entry.instead.empty())
    findings.push_back(env_finding(
        "nccl.env-obsolete",
        fmt::format("{}: {}; instead: {}", setting.name, entry.meaning, entry.instead), setting));
  const auto first = nccl::first_release(entry);
  if (!first || facts.version >= *first) return;
  findings.push_back(env_finding("nccl.env-other-release",
                                 fmt::format("{} is read from NCCL 2.{} on; 2.{} ignores it",
                                             setting.name, first->minor, facts.version.minor),
                                 setting));
  findings.back().next = {"comm-probe nccl env --explain " + setting.name};
}

// "NCCL_ALGO ", nccl_debug, NCCLDEBUG: what is wrong beside letters.
std::string slip_text(const std::string& name, const std::string& near) {
  if (name.find_first_of(" \t") != std::string::npos)
    return fmt::format("the name '{}' holds a blank, and NCCL does not read it; write {}", name,
                       near);
  return fmt::format("{} is no setting of NCCL and has no effect; did you mean {}?", name, near);
}

void judge_strange_name(const SettingInForce& setting, Findings& findings) {
  const bool is_of_file = setting.origin.line.has_value();
  if (is_of_file && setting.name.find_first_of(" \t") != std::string::npos)
    return;  // judged as a line
  const std::string near = nccl::nearest_setting(setting.name);
  if (!near.empty()) {
    findings.push_back(env_finding("nccl.env-misspelt", slip_text(setting.name, near), setting));
    findings.back().confidence = core::Confidence::kLikely;
    findings.back().next = {"comm-probe nccl env --explain " + near};
  } else if (setting.name.starts_with("NCCL_")) {
    findings.push_back(env_finding(
        "nccl.env-name-unknown",
        fmt::format("{} is none of the names known here: of a plugin, of a release that is not "
                    "covered, or without effect",
                    setting.name),
        setting));
    findings.back().confidence = core::Confidence::kPossible;
  }
}

}  // namespace

void judge_names(const EnvFacts& facts, Findings& findings) {
  for (const SettingInForce& setting : facts.settings) {
    if (nccl::is_foreign_setting(setting.name)) continue;
    if (const SettingEntry* entry = nccl::find_setting(setting.name))
      judge_known_name(facts, *entry, setting, findings);
    else
      judge_strange_name(setting, findings);
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

Finding range_finding(const SettingEntry& entry, const SettingInForce& setting,
                      const SettingReading& reading) {
  std::string text =
      entry.step > 1 && nccl::setting_number(setting.value).value_or(0) % entry.step != 0
          ? fmt::format("{}={} is no multiple of {}", setting.name, setting.value, entry.step)
          : fmt::format("{}={} is outside of {}", setting.name, setting.value,
                        entry.legal.empty() ? "64-bit numbers" : entry.legal);
  if (reading.effective != setting.value) text += fmt::format("; NCCL takes {}", reading.effective);
  return env_finding("nccl.env-out-of-range", text, setting);
}

void judge_channel_limits(const EnvFacts& facts, Findings& findings) {
  const SettingInForce* least = find_in_force(facts, "NCCL_MIN_NCHANNELS");
  const SettingInForce* most = find_in_force(facts, "NCCL_MAX_NCHANNELS");
  if (least == nullptr || most == nullptr) return;
  const nccl::ChannelSettings read =
      nccl::read_channel_settings(nccl::effective_environment(facts.settings), facts.version);
  if (read.min_channels <= read.max_channels) return;
  findings.push_back(env_finding(
      "nccl.env-minimum-wins",
      fmt::format(
          "NCCL_MIN_NCHANNELS={} is above NCCL_MAX_NCHANNELS={}; {} channels are made{}",
          least->value, most->value, read.min_channels,
          read.min_channels == nccl::most_channels(facts.version) ? ", the most there are" : ""),
      *least));
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
        findings.push_back(range_finding(*entry, setting, reading));
        break;
      case SettingProblem::kUnknownWord:
        findings.push_back(word_finding(*entry, setting, reading));
        break;
    }
    findings.back().next = {"comm-probe nccl env --explain " + setting.name};
  }
  judge_channel_limits(facts, findings);
}

std::vector<Finding> judge_nccl_env(const EnvFacts& facts) {
  Findings findings;
  for (const auto rule : {judge_names, judge_values, judge_methods, judge_leftovers, judge_log,
                          judge_devices, judge_sources})
    rule(facts, findings);
  return findings;
}

}  // namespace comm_probe::diagnose
