#include "cli/topo_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/net_source.h"
#include "cli/topo_policy.h"
#include "cli/topo_source.h"
#include "cli/topo_view.h"
#include "diagnose/host_state.h"
#include "diagnose/topo.h"

namespace comm_probe::cli {
namespace {

// Rules that could be applied, then the others with what they would need.
std::vector<core::Block> checked_blocks(const diagnose::TopoJudgement& judgement) {
  constexpr std::string_view kUnknown = "not known from this source: ";
  core::KeyValues applied;
  core::KeyValues unknown;
  for (const auto& [rule, outcome] : judgement.checked_rows()) {
    if (outcome.starts_with(kUnknown))
      unknown.rows.emplace_back(rule, outcome.substr(kUnknown.size()));
    else
      applied.rows.emplace_back(rule, outcome);
  }
  std::vector<core::Block> blocks;
  if (!applied.rows.empty()) {
    blocks.emplace_back(core::Heading{"Checked"});
    blocks.emplace_back(applied);
  }
  if (!unknown.rows.empty()) {
    blocks.emplace_back(core::Heading{"Not known from this source"});
    blocks.emplace_back(unknown);
  }
  return blocks;
}

}  // namespace

core::Document topo_document(const topology::Survey& survey) {
  core::Document document{.command = "topo"};
  document.inputs = {{survey.source, survey.kind}};
  for (const std::string& source : survey.beside) document.inputs.push_back({source, "beside"});
  document.caveats = survey.caveats;
  return document;
}

void add_topology_check(const topology::Survey& survey, int nodes, core::Document& document) {
  diagnose::TopoJudgement judgement = diagnose::judge_topology(survey);
  document.result = {{"source", survey.source}, {"kind", survey.kind}};
  add_policy(survey, nodes, judgement, document);
  document.result["checked"] = judgement.checked;
  document.findings = judgement.findings;
  document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                          judgement.caveats.end());
  document.verdict = survey_summary(survey) + ": " + judgement.verdict();
  for (core::Block& block : checked_blocks(judgement)) document.body.push_back(std::move(block));
}

void add_host_check(const topology::HostState& state, const topology::HostState* before,
                    core::Document& document) {
  diagnose::NetJudgement judgement = diagnose::judge_host_state(state);
  if (before != nullptr) {
    const diagnose::NetJudgement change = diagnose::judge_host_change(*before, state);
    if (!change.checks.empty())  // what happened meanwhile says more than what ever happened
      std::erase_if(judgement.findings, [](const core::Finding& finding) {
        return finding.id == "topo.cpu-throttled";
      });
    judgement.findings.insert(judgement.findings.begin(), change.findings.begin(),
                              change.findings.end());
    judgement.checks.insert(judgement.checks.end(), change.checks.begin(), change.checks.end());
  }
  core::Json checked = core::Json::array();
  core::KeyValues rows;
  for (const diagnose::NetCheck& check : judgement.checks) {
    checked.push_back({{"rule", check.what}, {"outcome", check.outcome}});
    rows.rows.emplace_back(check.what, check.outcome);
  }
  document.result["host"] = {{"allowed_cpus", state.allowed.value.size()},
                             {"checked", std::move(checked)}};
  document.result["host"]["quota_cpus"] =
      state.quota ? core::json_number(state.quota->value) : core::Json();
  document.result["host"]["shared_memory_bytes"] =
      state.shared_memory ? core::json_bytes(state.shared_memory->value) : core::Json();
  document.findings.insert(document.findings.end(), judgement.findings.begin(),
                           judgement.findings.end());
  const auto wrong = std::count_if(
      judgement.findings.begin(), judgement.findings.end(),
      [](const core::Finding& finding) { return finding.severity != core::Severity::kInfo; });
  if (wrong > 0) document.verdict += fmt::format("; host: {} wrong", wrong);
  document.body.emplace_back(core::Heading{"Checked of the host (as this process sees it)"});
  document.body.emplace_back(std::move(rows));
}

int check_topology(const Shell& shell, const CheckOptions& options) {
  if (options.wants_net || options.watch > core::Duration()) return check_network(shell, options);
  const auto survey = load_survey(options.from);
  if (!survey) return shell.fail(survey.error());
  core::Document document = topo_document(*survey);
  add_topology_check(*survey, options.nodes, document);
  if (options.from.empty())
    add_host_check(topology::read_host_state(core::Host::real()), nullptr, document);
  for (const std::string& path : options.from)
    if (const auto host = options.from.size() == 1 ? recorded_host(path) : std::nullopt)
      add_host_check(topology::read_host_state(*host), nullptr, document);
  return shell.finish(document);
}

}  // namespace comm_probe::cli
