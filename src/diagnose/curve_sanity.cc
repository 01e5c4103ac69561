#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_judgement.h"

namespace comm_probe::diagnose {
namespace {

using core::Evidence;
using core::Finding;
using core::make_finding;
using curve::Curve;
using curve::Row;
using curve::Timing;

constexpr std::size_t kMostEvidence = 4;
// No GPU memory moves more than 8 TB/s (B200, catalog); an operation that touches every byte once
// cannot pass it, and 2x leaves room for the next generation.
constexpr double kFastestMemoryGBps = 16000;
constexpr double kAboveCeiling = 1.03;  // rounding and clock of the benchmark
// Times are printed with as few as two digits ("1.8e+07"): half a digit is 5 %.
constexpr double kFactorSlack = 0.06;

template <class Use>
void each_timing(const Curve& curve, Use use) {
  for (const Row& row : curve.rows) {
    if (row.out_of_place) use(row, *row.out_of_place);
    if (row.in_place) use(row, *row.in_place);
  }
}

void add_row(std::vector<Evidence>& evidence, const Curve& curve, const Row& row) {
  const bool there = !evidence.empty() && evidence.back().line == row.line;
  if (!there && evidence.size() < kMostEvidence) evidence.push_back(evidence_of(curve, row));
}

void failed_run(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  if (curve.errors.empty()) return;
  Finding finding = make_finding(
      "curve.failed-run",
      fmt::format("{} stopped with an error {}: {}", name_of(curve),
                  curve.rows.empty() ? "before its first row" : "in the middle of its rows",
                  curve.errors.front().text));
  finding.confidence = core::Confidence::kCertain;
  finding.evidence.assign(curve.errors.begin(),
                          curve.errors.begin() + static_cast<std::ptrdiff_t>(
                                                     std::min(curve.errors.size(), kMostEvidence)));
  finding.next = {"run it again with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"};
  out.findings.push_back(std::move(finding));
}

void misrun(const CurveFacts& facts, Judgement& out) {
  if (facts.curve.misrun.empty()) return;
  Finding finding = make_finding(
      "curve.misrun",
      "several runs of one process each printed into this text: the binary was built without MPI, "
      "and no byte crossed between them");
  finding.confidence = core::Confidence::kLikely;
  finding.evidence = facts.curve.misrun;
  if (finding.evidence.size() > kMostEvidence) finding.evidence.resize(kMostEvidence);
  finding.next = {"make MPI=1 MPI_HOME=... in nccl-tests, then the same command again"};
  out.findings.push_back(std::move(finding));
}

void single_rank(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  if (curve.ranks != 1) return;
  Finding finding =
      make_finding("curve.single-rank",
                   "one rank communicates with nobody: busbw is 0 and says nothing about "
                   "any link; start it on more ranks");
  finding.confidence = core::Confidence::kCertain;
  if (!curve.devices.empty())
    finding.evidence.push_back(
        {curve.file, curve.first_line,
         fmt::format("the header lists one device: rank 0 on {}, {}", curve.devices.front().host,
                     curve.devices.front().name)});
  if (!curve.rows.empty()) finding.evidence.push_back(evidence_of(curve, curve.rows.back()));
  finding.next = {"all_reduce_perf -g 8 on one node, or mpirun with a binary built with MPI=1"};
  out.findings.push_back(std::move(finding));
}

void wrong_results(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  double wrong = 0;
  std::size_t timings = 0;
  std::vector<Evidence> evidence;
  each_timing(curve, [&](const Row& row, const Timing& timing) {
    if (timing.wrong.value_or(0) <= 0) return;
    ++timings;
    wrong = std::max(wrong, *timing.wrong);
    if (evidence.size() < kMostEvidence)
      evidence.push_back(
          {curve.file, row.line,
           fmt::format("{}{}: {} wrong of {} elements on each rank", core::format_bytes(row.bytes),
                       row.in_place && &timing == &*row.in_place ? " in place" : "",
                       core::format_number(*timing.wrong, 6), row.count)});
  });
  const auto out_of_bounds = curve.printed_out_of_bounds.value_or(0);
  if (timings == 0 && out_of_bounds == 0 && !curve.printed_failed) return;
  Finding finding = make_finding(
      "curve.wrong-results",
      timings > 0
          ? fmt::format("{} computed wrong results in {} timing{} (up to {} wrong elements)",
                        name_of(curve), timings, timings == 1 ? "" : "s",
                        core::format_number(wrong, 6))
          : fmt::format("{} computed wrong results: {} values out of bounds", name_of(curve),
                        out_of_bounds));
  if (out_of_bounds > 0 || curve.printed_failed)
    evidence.push_back({curve.file, curve.last_line,
                        fmt::format("out of bounds values: {} FAILED", out_of_bounds)});
  finding.confidence = core::Confidence::kCertain;
  finding.expected = {{0, timings > 0 ? "wrong elements" : "values out of bounds",
                       core::Basis::kComputed, "the sum of known inputs"}};
  // Without a row that says so, the line at the end does.
  finding.observed = {{timings > 0 ? wrong : static_cast<double>(out_of_bounds),
                       timings > 0 ? "wrong elements" : "values out of bounds", core::Basis::kRead,
                       curve.file}};
  finding.evidence = std::move(evidence);
  finding.next = {
      "the same run with -d int32 (adds exactly), then NCCL_PROTO=Simple, then "
      "NCCL_P2P_DISABLE=1: the first that is right names the side",
      "the same run twice: the same elements wrong each time is software (a mixed or patched "
      "library, a protocol, a type compared too strictly)"};
  out.findings.push_back(std::move(finding));
}

void say_impossible(std::string summary, std::vector<Evidence> evidence, Judgement& out) {
  if (evidence.empty()) return;
  Finding finding = make_finding("curve.impossible", std::move(summary));
  finding.confidence = core::Confidence::kCertain;
  finding.evidence = std::move(evidence);
  finding.next = {"measure again and keep the whole output"};
  out.findings.push_back(std::move(finding));
}

// A name is no evidence against the figures: it is the name that is wrong.
void name_contradicted(const Curve& curve, const std::string& what, Judgement& out) {
  out.caveats.push_back(core::make_caveat(
      "curve.file-name-contradicted", fmt::format("{}: {}", curve.file, what),
      "the plateau is not judged; say what ran with --nodes, or name the file after it"));
}

// busbw / algbw is one number for all rows of a table (model::busbw_factor).
void contradicting_factors(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  if (curve.ranks == 1) return;
  double low = 0, high = 1e9;
  const Row *lowest = nullptr, *highest = nullptr;
  each_timing(curve, [&](const Row& row, const Timing& timing) {
    const auto factor = curve::printed_factor(timing);
    if (!factor) return;
    if (factor->low > low) low = factor->low, lowest = &row;
    if (factor->high < high) high = factor->high, highest = &row;
  });
  if (lowest == nullptr || highest == nullptr || low <= high * (1 + kFactorSlack)) return;
  std::vector<Evidence> evidence;
  for (const Row* row : {highest, lowest}) {
    const auto& timing = row->out_of_place ? row->out_of_place : row->in_place;
    evidence.push_back(
        {curve.file, row->line,
         fmt::format("{}: algbw {} GB/s, busbw {} GB/s", core::format_bytes(row->bytes),
                     timing->algbw.in_GBps(), timing->busbw.in_GBps())});
  }
  say_impossible(fmt::format("busbw / algbw is at most {} in one row and at least {} in another; a "
                             "real table has one factor, so these numbers were not measured",
                             core::format_number(high), core::format_number(low)),
                 std::move(evidence), out);
}

void factor_of_another_op(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  if (!curve.op || curve.ranks == 1) return;
  const auto printed = curve::typical_factor(curve);
  if (!printed) return;
  // all_reduce: 2(n-1)/n lies in [1, 2); the (n-1)/n of the others in [0.5, 1)
  const bool reduces = *curve.op == model::Op::kAllReduce;
  const double least = reduces ? 1 : 0.5;
  const bool possible =
      curve.ranks
          ? std::abs(*printed / model::busbw_factor(*curve.op, *curve.ranks) - 1) < kFactorSlack
          : *printed > least - 0.002 && *printed < (reduces ? 2.01 : 1.01);
  if (possible) return;
  if (curve.op_from == curve::KnownFrom::kFileName)
    return name_contradicted(curve,
                             fmt::format("the file name says {}, whose busbw / algbw is never {}",
                                         model::op_name(*curve.op), core::format_number(*printed)),
                             out);
  std::vector<Evidence> evidence;
  for (const Row& row : curve.rows)
    if (row.out_of_place && row.out_of_place->algbw.in_GBps() >= 1) add_row(evidence, curve, row);
  say_impossible(fmt::format("busbw / algbw is {}, which {} cannot have{}; a sample, or another "
                             "operation than named",
                             core::format_number(*printed), model::op_name(*curve.op),
                             curve.ranks ? fmt::format(" on {} ranks", *curve.ranks) : ""),
                 std::move(evidence), out);
}

void absurd_rates(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  std::vector<Evidence> evidence;
  double most = 0;
  each_timing(curve, [&](const Row& row, const Timing& timing) {
    const double algbw = curve::is_usable(timing) ? (row.bytes / timing.time).in_GBps() : 0;
    if (algbw < kFastestMemoryGBps) return;
    most = std::max(most, algbw);
    add_row(evidence, curve, row);
  });
  say_impossible(fmt::format("up to {} GB/s: no GPU memory is that fast, so the operation returned "
                             "without moving the data",
                             core::format_number(most)),
                 std::move(evidence), out);
}

void above_ceiling(const CurveFacts& facts, Judgement& out) {
  const Curve& curve = facts.curve;
  if (!facts.expectation || !facts.expectation->ceiling) return;
  const core::Bandwidth ceiling = *facts.expectation->ceiling;
  std::vector<Evidence> evidence;
  core::Bandwidth most;
  each_timing(curve, [&](const Row& row, const Timing& timing) {
    if (timing.busbw <= ceiling * kAboveCeiling) return;
    most = std::max(most, timing.busbw);
    add_row(evidence, curve, row);
  });
  if (evidence.empty()) return;
  if (facts.expectation->nodes_by_name)
    return name_contradicted(
        curve,
        fmt::format("the file name says {} nodes, between which {} busbw cannot pass (at most {})",
                    facts.expectation->nodes, core::format_bandwidth(most),
                    core::format_bandwidth(ceiling)),
        out);
  say_impossible(
      fmt::format("{} shows {} busbw, above the {} that the named links can carry at all; "
                  "the hardware is not what was named, or the numbers are not measured",
                  name_of(curve), core::format_bandwidth(most), core::format_bandwidth(ceiling)),
      std::move(evidence), out);
  Finding& finding = out.findings.back();
  finding.confidence = core::Confidence::kLikely;
  finding.expected =
      figure(ceiling, core::Basis::kComputed, "at most; " + facts.expectation->source);
  finding.observed = figure(most, core::Basis::kRead, curve.file);
}

}  // namespace

Judgement judge_sanity(const CurveFacts& facts) {
  Judgement out;
  failed_run(facts, out);
  misrun(facts, out);
  single_rank(facts, out);
  wrong_results(facts, out);
  contradicting_factors(facts, out);
  if (out.findings.empty()) factor_of_another_op(facts, out);
  absurd_rates(facts, out);
  if (out.findings.empty()) above_ceiling(facts, out);
  return out;
}

}  // namespace comm_probe::diagnose
