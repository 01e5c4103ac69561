#include "cli/trace_killers.h"

#include <fmt/format.h>

#include "core/parallel.h"
#include "torch/killer_limits.h"

namespace comm_probe::cli {
namespace {

core::Json killer_json(const diagnose::KillerUse& use) {
  core::Json steps = core::Json::array();
  for (const auto& [step, count] : use.per_step) {
    core::Json one = {{"count", count}};
    one["step"] = step < 0 ? core::Json() : core::Json(step);
    steps.push_back(std::move(one));
  }
  core::Json json = {{"id", use.id},
                     {"rank", use.rank},
                     {"count", use.count},
                     {"steps", std::move(steps)},
                     {"exposed_comm_ns", use.lost.communication},
                     {"exposed_mem_ns", use.lost.memory},
                     {"idle_ns", use.lost.idle},
                     {"share", core::json_number(use.share)},
                     {"warning", use.warns}};
  if (use.saving > 0) json["saving_ns"] = use.saving;
  return json;
}

// With --explain: what must be passed before something is said.
void add_limits(core::Document& document) {
  core::KeyValues limits;
  for (const torch::KillerLimitRow& row : torch::killer_limit_rows())
    limits.rows.emplace_back(row.name,
                             fmt::format("{}: {} ({})", row.value, row.applies_when, row.source));
  document.details.emplace_back(core::Heading{"Limits of what kills overlap"});
  document.details.emplace_back(std::move(limits));
}

}  // namespace

std::vector<diagnose::KillerUse> add_killers(const std::vector<torch::Trace>& traces,
                                             core::Document& document) {
  std::vector<torch::OverlapFacts> facts(traces.size());
  core::for_each_index(
      traces.size(), [&](std::size_t i) { facts[i] = torch::overlap_facts(traces[i]); }, 1);
  diagnose::KillerJudgement judged = diagnose::judge_killers(facts);
  core::Json killers = core::Json::array();
  for (const diagnose::KillerUse& use : judged.killers) killers.push_back(killer_json(use));
  document.result["killers"] = std::move(killers);
  add_limits(document);
  for (core::Finding& finding : judged.judgement.findings)
    document.findings.push_back(std::move(finding));
  return std::move(judged.killers);
}

}  // namespace comm_probe::cli
