#include "diagnose/nccl_given.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "diagnose/nccl_env_rules.h"
#include "nccl/modelled_settings.h"

namespace comm_probe::diagnose {
namespace {

using nccl::SettingInForce;

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// ALGO for NCCL_ALGO: on the command line the beginning is easily left out.
std::optional<core::Finding> judge_bare_name(const SettingInForce& setting) {
  const std::string meant = "NCCL_" + upper(setting.name);
  if (upper(setting.name).starts_with("NCCL") || nccl::find_setting(meant) == nullptr)
    return std::nullopt;
  core::Finding finding =
      env_finding("nccl.env-misspelt",
                  fmt::format("{} is no setting of NCCL and has no effect; did you mean {}?",
                              setting.name, meant),
                  setting);
  finding.next = {"comm-probe nccl env --explain " + meant};
  return finding;
}

// "what NCCL_IB_HCA=x changes (which NICs are used)"
std::string unmodelled_text(const std::string& name, const std::string& value,
                            const std::string& effect) {
  return fmt::format("what {}={} changes ({})", name, value, effect);
}

void add_to(std::string& list, const std::string& word) {
  list += (list.empty() ? "" : ", ") + word;
}

}  // namespace

Judgement judge_given_settings(const nccl::Environment& environment,
                               topology::NcclVersion version) {
  EnvFacts facts;
  facts.version = version;
  facts.sources.environment_name = "--env";
  facts.sources.environment = environment;
  facts.settings = settings_in_force(facts.sources);
  Judgement judgement;
  judge_names(facts, judgement.findings);
  judge_values(facts, judgement.findings);
  std::string unmodelled, unused;
  for (const SettingInForce& setting : facts.settings) {
    if (auto finding = judge_bare_name(setting)) {
      judgement.findings.push_back(std::move(*finding));
      continue;
    }
    const std::string effect = nccl::effect_of_unmodelled(setting.name, setting.value);
    if (!effect.empty())
      add_to(unmodelled, unmodelled_text(setting.name, setting.value, effect));
    else if (!nccl::is_modelled(setting.name))
      add_to(unused, setting.name);
  }
  if (!unmodelled.empty())
    judgement.caveats.push_back(core::make_caveat(
        "nccl.setting-unmodelled", unmodelled + " is missing",
        "this is the plan without it: on the network and devices of the topology file"));
  if (!unused.empty())
    judgement.caveats.push_back(core::make_caveat(
        "nccl.setting-unused", "the effect of " + unused + " is missing",
        "paths, NICs, channels and the choice of algorithms are decided without it", false));
  return judgement;
}

std::vector<core::Caveat> version_caveats(topology::NcclVersion version) {
  const topology::NcclVersion proven;
  if (version == proven) return {};
  return {core::make_caveat(
      "nccl.version-unproven",
      fmt::format("recordings of NCCL 2.{} to compare with are missing", version.minor),
      fmt::format("constants and rules are those of its tags; only {}.{}.{} is proven field by "
                  "field",
                  proven.major, proven.minor, proven.patch),
      false)};
}

}  // namespace comm_probe::diagnose
