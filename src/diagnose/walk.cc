#include "diagnose/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/bench.h"
#include "diagnose/links.h"
#include "model/collective.h"

namespace comm_probe::diagnose {
namespace {

using core::format_duration;
using core::format_percent;

std::string name_of(const measure::Beside& beside) {
  return fmt::format("{} {}", model::op_name(beside.plan.op), core::format_bytes(beside.row.bytes));
}

// What happened around the measurement that can move it away from the ledger.
std::vector<std::string> circumstances(const measure::Beside& b) {
  std::vector<std::string> found;
  if (!b.is_steady())
    found.push_back(fmt::format("the machine changed its state: a flag took {} before and {} after",
                                format_duration(b.flag_before), format_duration(b.flag_after)));
  const measure::Timing& timing = b.row.out_of_place;
  // what disturbs the collective makes it slower, what disturbs its links makes the ledger slower
  const bool is_slower = timing.time > b.predicted;
  if (is_slower && is_uneven(timing))
    found.push_back(fmt::format("blocks took {} to {}: something else ran in between",
                                format_duration(timing.fastest), format_duration(timing.slowest)));
  if (b.load > b.context.cores)
    found.push_back(fmt::format("the load was {} on {} cores", core::format_number(b.load, 3),
                                b.context.cores));
  else if (b.preemptions > 20)
    found.push_back(fmt::format("other tasks took the CPU {} times while its links were measured",
                                b.preemptions));
  return found;
}

core::Duration flag_of(const measure::Beside& b) { return std::max(b.flag_before, b.flag_after); }

bool is_within_a_flag(const measure::Beside& b) {
  const core::Duration off = b.row.out_of_place.time - b.predicted;
  return std::max(off, core::Duration() - off) < flag_of(b);
}

// What the ledger explains at most.
core::Duration most_explained(const measure::Beside& b) {
  return std::max(b.predicted * (1 + kExplainedGap), b.predicted + flag_of(b));
}

core::Finding slower_finding(const WalkStep& step) {
  const measure::Beside& b = step.beside;
  core::Finding finding =
      core::make_finding("link.gap-unexplained",
                         fmt::format("{} took {}, its ledger says {} ({} more)", step.name,
                                     format_duration(b.row.out_of_place.time),
                                     format_duration(b.predicted), format_percent(*step.gap, 2)));
  finding.expected = core::figure(b.predicted, core::Basis::kComputed,
                                  "ledger of the links that link measured beside it");
  finding.observed =
      core::figure(b.row.out_of_place.time, core::Basis::kMeasured, "median of the blocks");
  finding.confidence = core::Confidence::kPossible;
  finding.next = {fmt::format("comm-probe bench {} -b {} -e {}", model::op_name(b.plan.op),
                              b.row.bytes.whole(), b.row.bytes.whole()),
                  "comm-probe link"};
  return finding;
}

std::uint64_t wrong_of(const WalkStep& step) {
  return step.beside.row.out_of_place.wrong.value_or(0) +
         step.beside.row.in_place.wrong.value_or(0);
}

// Wrong results or a dead rank: an error, whatever the time.
core::Finding broken_finding(const WalkStep& step) {
  if (step.beside.died)
    return death_finding(*step.beside.died,
                         fmt::format("{}: {}", step.name, step.beside.died->sentence));
  core::Finding finding = core::make_finding(
      "bench.wrong-results", fmt::format("{}: {} elements are wrong", step.name, wrong_of(step)));
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

Check check_of(const WalkStep& step) {
  const measure::Beside& b = step.beside;
  Check check{
      fmt::format("{} on {} CPUs", step.name, b.plan.ranks),  // stands in a list about GPUs
      step.gap ? fmt::format("at most {}", format_duration(most_explained(b))) : "no ledger",
      format_duration(b.row.out_of_place.time), Check::Outcome::kPass};
  if (wrong_of(step) > 0 || b.died) {
    check.outcome = Check::Outcome::kFail;
    check.observed = b.died ? b.died->sentence : fmt::format("{} wrong", wrong_of(step));
  } else if (!step.gap) {
    check.outcome = Check::Outcome::kUndecided;
  } else if (*step.gap > kExplainedGap && !is_within_a_flag(b)) {
    check.outcome = step.is_explained ? Check::Outcome::kUndecided : Check::Outcome::kFail;
  }
  return check;
}

}  // namespace

bool is_uneven(const measure::Timing& timing) {
  return timing.slowest > timing.fastest * kSteadyBlocks;
}

WalkStep judge_step(const measure::Beside& beside) {
  WalkStep step{.name = name_of(beside), .beside = beside};
  if (!beside.ledger || beside.predicted.in_seconds() <= 0) {
    step.explained_by = {beside.not_priced.empty() ? "not priced" : beside.not_priced};
    return step;
  }
  step.gap = beside.row.out_of_place.time / beside.predicted - 1;
  if (std::abs(*step.gap) <= kExplainedGap) {
    step.explained_by = {"the ledger"};
    return step;
  }
  if (is_within_a_flag(beside)) {
    step.explained_by = {"the ledger, less than one flag apart"};
    return step;
  }
  step.explained_by = circumstances(beside);
  step.is_explained = !step.explained_by.empty();
  if (!step.is_explained)
    step.explained_by = {*step.gap > 0 ? "nothing that was seen"
                                       : "faster than the same steps were one by one"};
  return step;
}

bool is_as_predicted(const WalkStep& step) {
  return step.gap && (std::abs(*step.gap) <= kExplainedGap || is_within_a_flag(step.beside));
}

bool needs_another_look(const WalkStep& step) {
  return step.gap && *step.gap > kExplainedGap && !step.is_explained;
}

void give_up_looking(WalkStep& step) {
  step.explained_by = {"nothing that was seen, but no time was left to measure it again"};
  step.is_explained = true;
}

std::vector<core::Finding> walk_findings(const std::vector<WalkStep>& steps) {
  std::vector<core::Finding> findings;
  for (const WalkStep& step : steps) {
    if (step.beside.died || wrong_of(step) > 0) findings.push_back(broken_finding(step));
    if (needs_another_look(step)) findings.push_back(slower_finding(step));
  }
  return findings;
}

std::vector<core::Caveat> walk_caveats(const std::vector<WalkStep>& steps) {
  std::string disturbed, unpriced;
  for (const WalkStep& step : steps) {
    const bool is_off = step.gap && std::abs(*step.gap) > kExplainedGap && step.is_explained &&
                        !is_within_a_flag(step.beside);
    if (is_off) disturbed += (disturbed.empty() ? "" : ", ") + step.name;
    if (!step.gap) unpriced += (unpriced.empty() ? "" : ", ") + step.name;
  }
  std::vector<core::Caveat> caveats;
  if (!disturbed.empty())
    caveats.push_back(core::make_caveat(
        "link.disturbed", "a quiet machine during " + disturbed,
        "there the gap says something about the surroundings, not about the links", false));
  if (!unpriced.empty())
    caveats.push_back(core::make_caveat("link.no-ledger", "a ledger for " + unpriced,
                                        "there a measured time stands alone", false));
  return caveats;
}

const char* outcome_name(Check::Outcome outcome) {
  switch (outcome) {
    case Check::Outcome::kPass:
      return "pass";
    case Check::Outcome::kFail:
      return "fail";
    case Check::Outcome::kUndecided:
      return "undecided";
    case Check::Outcome::kNotHere:
      return "not here";
  }
  return "?";
}

std::vector<Check> acceptance(const topology::HostTopology& host,
                              const std::vector<WalkStep>& steps) {
  std::vector<Check> checks;
  const auto allowed = static_cast<double>(std::max<std::size_t>(1, host.allowed.size()));
  checks.push_back({"CPU time",
                    fmt::format("{} CPUs without a smaller quota", std::max(2.0, allowed)),
                    fmt::format("{} CPUs", core::format_number(host.usable_cpus())),
                    host.usable_cpus() < allowed || allowed < 2 ? Check::Outcome::kFail
                                                                : Check::Outcome::kPass});
  std::size_t narrow = 0;
  for (const core::Finding& finding : judge_host(host).findings)
    narrow += finding.id == "link.pci-width" ? 1 : 0;
  const auto known = std::count_if(
      host.devices.begin(), host.devices.end(),
      [](const topology::PciDevice& d) { return d.current.width && d.maximum.width; });
  if (known > 0)
    checks.push_back({"PCIe width", fmt::format("all lanes of {} GPUs and NICs", known),
                      fmt::format("{} with fewer", narrow),
                      narrow > 0 ? Check::Outcome::kFail : Check::Outcome::kPass});
  for (const WalkStep& step : steps) checks.push_back(check_of(step));
  return checks;
}

static std::string names_with(const std::vector<Check>& checks, Check::Outcome outcome) {
  std::string names;
  for (const Check& check : checks)
    if (check.outcome == outcome) names += (names.empty() ? "" : "; ") + check.name;
  return names;
}

std::vector<core::Caveat> acceptance_caveats(const std::vector<Check>& checks) {
  const std::string open = names_with(checks, Check::Outcome::kUndecided);
  if (open.empty()) return {};
  const bool is_refused = !names_with(checks, Check::Outcome::kFail).empty();
  return {core::make_caveat(
      "link.accept-undecided", "a decision on " + open,
      is_refused ? "the machine is refused by the lines that fail, whatever these would say"
                 : "this machine is neither accepted nor refused; below the list stands what would "
                   "decide each line; where it was disturbed, repeat it while nothing else runs")};
}

std::vector<core::Finding> acceptance_findings(const std::vector<Check>& checks) {
  const std::string failed = names_with(checks, Check::Outcome::kFail);
  if (failed.empty()) return {};
  core::Finding finding = core::make_finding("link.accept-failed", "refused: " + failed);
  finding.confidence = core::Confidence::kCertain;
  for (const Check& check : checks)
    if (check.outcome == Check::Outcome::kFail)
      finding.evidence.push_back(
          {check.name, {}, fmt::format("expected {}, found {}", check.expected, check.observed)});
  finding.next = {"comm-probe topo check", "comm-probe link"};
  return {finding};
}

std::string acceptance_verdict(const std::vector<Check>& checks) {
  const std::string failed = names_with(checks, Check::Outcome::kFail);
  if (!failed.empty()) return "refused: " + failed;
  const std::string open = names_with(checks, Check::Outcome::kUndecided);
  return open.empty() ? "accepted" : "neither accepted nor refused, open: " + open;
}

}  // namespace comm_probe::diagnose
