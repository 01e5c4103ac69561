#include "diagnose/bench.h"

#include <fmt/format.h>

#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using measure::Row;
using measure::Run;

std::uint64_t wrong_in(const Row& row) {
  return row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0);
}

void judge_results(const Run& run, std::vector<core::Finding>& findings) {
  int sizes = 0;
  const Row* first = nullptr;
  for (const Row& row : run.rows) {
    if (wrong_in(row) == 0) continue;
    ++sizes;
    if (first == nullptr) first = &row;
  }
  if (first == nullptr) return;
  core::Finding finding = core::make_finding(
      "bench.wrong-results",
      fmt::format("{} of {} sizes gave wrong results, from {} ({}) on", sizes, run.rows.size(),
                  core::format_bytes(first->bytes), algorithm_name(first->algorithm)));
  finding.observed = core::Figure{static_cast<double>(wrong_in(*first)), "wrong elements",
                                  core::Basis::kMeasured, "compared bit for bit"};
  finding.confidence = core::Confidence::kCertain;
  findings.push_back(finding);
}

void judge_death(const Run& run, std::vector<core::Finding>& findings) {
  if (!run.died) return;
  core::Finding finding = core::make_finding(
      "bench.rank-died", fmt::format("{} after {} finished sizes; the others were ended",
                                     run.died->sentence, run.rows.size()));
  finding.ranks = {run.died->rank};
  finding.confidence = core::Confidence::kCertain;
  findings.push_back(finding);
}

// At most 25 % off (issue 2); a machine that changed, samples that disagree: by half.
constexpr double kFarOff = 0.25;
constexpr double kChanged = 1.5;

bool is_far_off(const Row& row) {
  return std::fabs(row.out_of_place.time / row.predicted->time() - 1) > kFarOff;
}
bool is_jittery(const Row& row) {
  return row.out_of_place.slowest > row.out_of_place.fastest * kChanged;
}

std::string reason_for(const Run& run, const Row& row) {
  if (run.context.drift > kChanged)
    return fmt::format("the flag latency of the machine changed by a factor of {:.2f} in between",
                       run.context.drift);
  // at least one for every second block: the median is one of the disturbed
  if (row.out_of_place.preemptions * 2 >= run.plan.blocks)
    return fmt::format("another process took the cores {} times in {} samples",
                       row.out_of_place.preemptions, run.plan.blocks);
  if (is_jittery(row))
    return fmt::format("its own samples run from {} to {}: something else used the cores",
                       core::format_duration(row.out_of_place.fastest),
                       core::format_duration(row.out_of_place.slowest));
  return "samples agree: the ledger lacks a term here (--explain shows those it has)";
}

struct Priced {
  int sizes = 0;
  int far_off = 0;
};

Priced judge_prediction(const Run& run, std::vector<core::Finding>& findings) {
  Priced priced;
  std::vector<core::Evidence> evidence;
  for (const Row& row : run.rows) {
    if (!row.predicted) continue;
    ++priced.sizes;
    if (!is_far_off(row)) continue;
    ++priced.far_off;
    evidence.push_back(
        {.source = core::format_bytes(row.bytes),
         .text = fmt::format("{:.2f} times the prediction; {}",
                             row.out_of_place.time / row.predicted->time(), reason_for(run, row))});
  }
  if (priced.far_off == 0) return priced;
  core::Finding finding = core::make_finding(
      "bench.off-prediction",
      fmt::format("{} of {} sizes are further than 25 % from what the links of this machine "
                  "predict",
                  priced.far_off, priced.sizes));
  finding.evidence = std::move(evidence);
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"comm-probe link --only host"};
  findings.push_back(finding);
  return priced;
}

std::string verdict_for(const Run& run, const Priced& priced, bool is_wrong) {
  if (run.died || is_wrong) return "";
  std::string text = fmt::format("{} on {} ranks: {} sizes measured", op_name(run.plan.op),
                                 run.plan.ranks, run.rows.size());
  if (run.plan.check) text += ", every result right";
  if (priced.sizes > 0)
    text += fmt::format(", {} of {} within 25 % of the prediction", priced.sizes - priced.far_off,
                        priced.sizes);
  return text;
}

}  // namespace

BenchJudgement judge_bench(const Run& run) {
  BenchJudgement judgement;
  judge_death(run, judgement.findings);
  judge_results(run, judgement.findings);
  const bool is_wrong = !judgement.findings.empty();
  const Priced priced = judge_prediction(run, judgement.findings);
  judgement.verdict = verdict_for(run, priced, is_wrong);
  if (run.plan.ranks > run.context.cores)
    judgement.caveats.push_back(core::make_caveat(
        "bench.not-priced",
        fmt::format("{} ranks take turns on {} cores", run.plan.ranks, run.context.cores),
        "times are those of switching, no prediction stands beside them", false));
  return judgement;
}

}  // namespace comm_probe::diagnose
