#include "diagnose/bench_routed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::format_duration;
using measure::RoutedRow;
using measure::RoutedRun;

core::Finding wrong_finding(const RoutedRow& row) {
  const measure::RoutedCheck& check = row.check;
  core::Finding finding = core::make_finding(
      "bench.wrong-results",
      fmt::format("{}: {} picks did not come back, {} tokens came back twice, {} values are wrong",
                  scheme_name(row.scheme), check.missing, check.twice, check.wrong));
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

// Which is faster, or neither.
std::string faster(core::Duration flat, core::Duration dedup) {
  const double larger = std::max(flat.in_us(), dedup.in_us());
  if (std::abs(flat.in_us() - dedup.in_us()) <= kSameTime * larger) return "neither";
  return flat < dedup ? "flat" : "dedup";
}

// The order that holds with the fastest and the slowest samples of the calibration too; else
// nothing: other work on the cores moved it.
std::optional<std::string> steady_order(const RoutedRow& flat, const RoutedRow& dedup) {
  const std::string order = faster(flat.predicted(), dedup.predicted());
  if (order != faster(flat.predicted_least(), dedup.predicted_least()) ||
      order != faster(flat.predicted_most(), dedup.predicted_most()))
    return std::nullopt;
  return order;
}

// No sample of one was among those of the other.
bool are_apart(const RoutedRow& flat, const RoutedRow& dedup) {
  return flat.slowest() < dedup.fastest() || dedup.slowest() < flat.fastest();
}

core::Finding order_finding(const RoutedRow& flat, const RoutedRow& dedup,
                            const std::string& predicted, const std::string& measured) {
  core::Finding finding =
      core::make_finding("bench.off-prediction",
                         fmt::format("{} was predicted to be faster, {} was", predicted, measured));
  for (const RoutedRow* row : {&flat, &dedup})
    finding.evidence.push_back(
        {scheme_name(row->scheme),
         {},
         fmt::format("predicted {}, measured {}", format_duration(row->predicted()),
                     format_duration(row->time()))});
  return finding;
}

// The largest ratio of the slowest to the fastest sample, of the calibration and of both schemes.
double spread_of(const RoutedRun& run) {
  double most = 1;
  for (const RoutedRow* row : {&run.empty, &run.even, &run.rows[0], &run.rows[1]})
    for (const measure::RoutedPhase* phase : {&row->dispatch, &row->combine})
      if (phase->fastest > core::Duration()) most = std::max(most, phase->slowest / phase->fastest);
  return most;
}

std::string order_text(const std::string& order) {
  return order == "neither" ? "neither is faster" : order + " is faster";
}

std::string times_text(const RoutedRow& flat, const RoutedRow& dedup) {
  return fmt::format("flat {} (predicted {}), dedup {} (predicted {})",
                     format_duration(flat.time()), format_duration(flat.predicted()),
                     format_duration(dedup.time()), format_duration(dedup.predicted()));
}

}  // namespace

BenchJudgement judge_routed(const RoutedRun& run) {
  BenchJudgement judgement;
  for (const RoutedRow& row : run.rows)
    if (!row.check.is_good()) judgement.findings.push_back(wrong_finding(row));
  if (run.died) {
    judgement.findings.push_back(death_finding(*run.died, run.died->sentence));
    judgement.verdict = "the run was ended before it was finished";
    return judgement;
  }
  if (run.rows.size() < 2) return judgement;
  const RoutedRow &flat = run.rows[0], &dedup = run.rows[1];
  const auto predicted = steady_order(flat, dedup);
  const std::string measured = faster(flat.time(), dedup.time());
  judgement.verdict = times_text(flat, dedup);
  if (const double spread = spread_of(run); spread >= kVoidSpread)
    judgement.verdict += fmt::format(
        "; no comparison: samples differ {:.3g}-fold, other work was on the cores", spread);
  // without a limit both are what the cores make of it: no ledger to be held to
  else if (!run.is_limited)
    judgement.verdict +=
        fmt::format("; no comparison: {}, and no --nic limits them", order_text(measured));
  else if (!predicted)
    judgement.verdict +=
        "; no comparison: the calibration's own samples are too far apart to predict which is "
        "faster";
  else if (*predicted == measured)
    judgement.verdict += fmt::format(": {}, as predicted", order_text(measured));
  else if (*predicted != "neither" && measured != "neither" && are_apart(flat, dedup))
    judgement.findings.push_back(order_finding(flat, dedup, *predicted, measured));
  else
    judgement.verdict += fmt::format(
        "; no comparison: {}, the prediction was that {}, and their samples overlap or are alike",
        order_text(measured), order_text(*predicted));
  return judgement;
}

}  // namespace comm_probe::diagnose
