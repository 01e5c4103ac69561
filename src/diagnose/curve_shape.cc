#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_advice.h"
#include "diagnose/curve_judgement.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_number;
using core::make_finding;

// name, value, applies when, source
constexpr double kHumpWarns =
    2.0;  // time over that of a larger size; c61 7.1; steps stay below 1.8
constexpr double kSingleHumpWarns = 2.5;  // accepted runs show one size at 2.24 (c42), 2.26 (c64)
constexpr double kInPlaceDiffers = 0.10;  // repeats differ by less than 5 % on the plateau
const core::Bytes kLargeSize = core::Bytes::of(1048576);  // below it a copy hides in the latency
constexpr std::size_t kMostEvidence = 4;

void add_evidence(Finding& finding, const CurveFacts& facts, core::Bytes bytes) {
  const curve::Row* row = row_at(facts.curve, bytes);
  if (row == nullptr || finding.evidence.size() >= kMostEvidence) return;
  if (!finding.evidence.empty() && finding.evidence.back().line == row->line) return;
  finding.evidence.push_back(evidence_of(facts.curve, *row));
}

void cold_start(const CurveFacts& facts, Judgement& out) {
  const int cold = facts.analysis.shape.cold_rows;
  if (cold == 0) return;
  Finding finding = make_finding(
      "curve.cold-start",
      fmt::format("{}: the first {} a cold start and not the latency; left out of the fit",
                  name_of(facts.curve), cold == 1 ? "row is" : fmt::format("{} rows are", cold)));
  finding.confidence = Confidence::kLikely;
  std::vector<const curve::Row*> rows;
  for (const auto& row : facts.curve.rows)
    if (row.bytes.count() > 0) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  for (std::size_t i = 0; i < rows.size() && i <= static_cast<std::size_t>(cold); ++i)
    finding.evidence.push_back(evidence_of(facts.curve, *rows[i]));
  finding.next = {"measure with -w 20 where the latency of the first size matters"};
  out.findings.push_back(std::move(finding));
}

void jitter(const CurveFacts& facts, Judgement& out) {
  const auto& jitter = facts.analysis.shape.jitter;
  if (!jitter) return;
  Finding finding = make_finding(
      "curve.jitter",
      fmt::format("{}: at {} of {} sizes the two timings of the same size differ by more than 30 % "
                  "(averages of {} to {}); latency and steps cannot be read from this run",
                  name_of(facts.curve), jitter->disagreeing, jitter->compared,
                  format_duration(jitter->fastest), format_duration(jitter->slowest)));
  finding.confidence = Confidence::kLikely;
  for (const auto& point : facts.analysis.points)
    if (point.again && std::abs(std::log(*point.again / point.time)) > std::log(1.3))
      add_evidence(finding, facts, point.bytes);
  finding.next = {"repeat on idle nodes with -w 20 -n 100 and compare with --baseline"};
  out.findings.push_back(std::move(finding));
}

// One size alone is a hump where both of its timings say so; one timing can be an accident.
bool both_timings_slow(const CurveFacts& facts, const model::Hump& hump) {
  return std::any_of(facts.analysis.points.begin(), facts.analysis.points.end(),
                     [&](const model::ShapePoint& point) {
                       return point.bytes == hump.worst && point.again &&
                              point.better() >= hump.faster_time * kSingleHumpWarns;
                     });
}

bool is_bad(const CurveFacts& facts, const model::Hump& hump) {
  if (hump.factor < kHumpWarns) return false;
  return hump.sizes > 1 || both_timings_slow(facts, hump);
}

void humps(const CurveFacts& facts, Judgement& out) {
  for (const model::Hump& hump : facts.analysis.shape.humps) {
    if (!is_bad(facts, hump)) continue;
    Finding finding = make_finding(
        "curve.hump",
        fmt::format("{}: {} takes {}, {} times as long as {} ({}){}", name_of(facts.curve),
                    format_bytes(hump.worst), format_duration(hump.worst_time),
                    format_number(hump.factor, 3), format_bytes(hump.faster),
                    format_duration(hump.faster_time),
                    hump.sizes == 1
                        ? std::string("; this size alone is slow in both timings")
                        : fmt::format("; sizes from {} to {} are slower than a larger "
                                      "message",
                                      format_bytes(hump.first), format_bytes(hump.last))));
    finding.confidence = Confidence::kLikely;
    finding.expected = figure(hump.faster_time, core::Basis::kRead,
                              "at most what " + format_bytes(hump.faster) + " takes");
    finding.observed = figure(hump.worst_time, core::Basis::kRead, facts.curve.file);
    for (const core::Bytes bytes : {hump.first, hump.worst, hump.faster})
      add_evidence(finding, facts, bytes);
    finding.next = {
        fmt::format("over these sizes: {}", choice_advice(facts.curve)),
        fmt::format("then the new table against this one: --baseline {}", facts.curve.file)};
    out.findings.push_back(std::move(finding));
  }
}

bool in_bad_hump(const CurveFacts& facts, const model::Step& step) {
  const auto& humps = facts.analysis.shape.humps;
  return std::any_of(humps.begin(), humps.end(), [&](const model::Hump& hump) {
    return is_bad(facts, hump) && step.after_bytes >= hump.first && step.before_bytes <= hump.last;
  });
}

std::string step_text(const model::Step& step) {
  return step.kind == model::Step::Kind::kDrop
             ? fmt::format("{} at {} although {} takes {}", format_duration(step.after),
                           format_bytes(step.after_bytes), format_bytes(step.before_bytes),
                           format_duration(step.before))
             : fmt::format("{} at {} ({} times more than the size explains, from {} at {})",
                           format_duration(step.after), format_bytes(step.after_bytes),
                           format_number(step.factor, 3), format_duration(step.before),
                           format_bytes(step.before_bytes));
}

// Our local engine moves bytes through the caches of one host: large messages leave the caches, and
// that busbw falls there is no fault; NCCL's settings mean nothing to it.
bool runs_in_host_memory(const curve::Curve& curve) {
  return curve.label.find("local engine") != std::string::npos;
}

// A change of protocol or algorithm goes one way at one or two sizes; times that jump up and down
// at many are unsteady.
constexpr std::size_t kManySteps = 4;

void unsteady(const CurveFacts& facts, const std::vector<const model::Step*>& steps,
              Judgement& out) {
  Finding finding = make_finding(
      "curve.jitter",
      fmt::format("{}: times jump up and down at {} sizes, more than protocols change; the steps "
                  "cannot be told from noise",
                  name_of(facts.curve), steps.size()));
  finding.confidence = Confidence::kPossible;
  for (const model::Step* step : steps) add_evidence(finding, facts, step->after_bytes);
  finding.next = {"repeat on idle nodes with -w 20 -n 100 and compare with --baseline"};
  out.findings.push_back(std::move(finding));
}

void steps(const CurveFacts& facts, Judgement& out) {
  const model::Shape& shape = facts.analysis.shape;
  if (shape.collapse || shape.jitter) return;  // the same rows, said better
  if (runs_in_host_memory(facts.curve)) return;
  std::vector<const model::Step*> plain;
  for (const model::Step& step : shape.steps)
    if (!in_bad_hump(facts, step)) plain.push_back(&step);
  if (plain.empty()) return;
  if (plain.size() >= kManySteps) return unsteady(facts, plain, out);
  std::string where;
  for (const model::Step* step : plain) where += (where.empty() ? "" : "; ") + step_text(*step);
  Finding finding = make_finding("curve.step", fmt::format("{}: step{}: {}", name_of(facts.curve),
                                                           plain.size() == 1 ? "" : "s", where));
  finding.confidence = Confidence::kPossible;
  for (const model::Step* step : plain) {
    add_evidence(finding, facts, step->before_bytes);
    add_evidence(finding, facts, step->after_bytes);
  }
  finding.next = {fmt::format("forced on both sides of the step this tells what switched: {}",
                              choice_advice(facts.curve))};
  out.findings.push_back(std::move(finding));
}

void collapse(const CurveFacts& facts, Judgement& out) {
  const auto& collapse = facts.analysis.shape.collapse;
  if (!collapse || runs_in_host_memory(facts.curve)) return;
  Finding finding = make_finding(
      "curve.collapse",
      fmt::format(
          "{}: busbw falls from {} at {} to {} for larger sizes ({} of the peak), from {} on",
          name_of(facts.curve), format_bandwidth(collapse->peak),
          format_bytes(collapse->peak_bytes), format_bandwidth(collapse->after),
          core::format_percent(collapse->after / collapse->peak, 2),
          format_bytes(collapse->first_slow)));
  // the fall is in the numbers; that the network between the nodes makes it is not
  finding.confidence = collapse->sizes > 1 ? Confidence::kLikely : Confidence::kPossible;
  finding.expected = figure(collapse->peak, core::Basis::kRead,
                            "reached at " + format_bytes(collapse->peak_bytes) + " in this run");
  finding.observed = figure(collapse->after, core::Basis::kRead,
                            fmt::format("median of the {} larger size{}", collapse->sizes,
                                        collapse->sizes == 1 ? "" : "s"));
  for (const core::Bytes bytes : {collapse->peak_bytes, collapse->first_slow})
    add_evidence(finding, facts, bytes);
  add_evidence(finding, facts, facts.curve.rows.back().bytes);
  if (is_inside_one_node(facts.curve)) {
    finding.layer = core::Layer::kHardware;
    finding.next = link_advice(facts.curve);
  } else {
    finding.next = {
        "NIC counters before and after a run at this size (retransmissions, discards, CNPs)"};
    if (facts.curve.nodes.value_or(0) > 2)
      finding.next.push_back("the same sizes on pairs of nodes");
  }
  finding.next.push_back("at these sizes: " + choice_advice(facts.curve));
  out.findings.push_back(std::move(finding));
}

void in_place_differs(const CurveFacts& facts, Judgement& out) {
  const auto& ratio = facts.analysis.shape.again_ratio;
  if (!ratio || std::abs(std::log(*ratio)) < std::log1p(kInPlaceDiffers)) return;
  if (facts.analysis.shape.jitter || facts.curve.ranks == 1) return;
  const auto& plateau = facts.analysis.shape.plateau;  // small sizes show latency, not copies
  if (!plateau || (!plateau->is_saturated() && plateau->saturation)) return;
  if (plateau->peak_bytes < kLargeSize) return;
  Finding finding =
      make_finding("curve.in-place-differs",
                   fmt::format("{}: in place takes {} times as long as out of place at large sizes",
                               name_of(facts.curve), format_number(*ratio, 3)));
  finding.confidence = Confidence::kLikely;
  add_evidence(finding, facts, facts.curve.rows.back().bytes);
  out.findings.push_back(std::move(finding));
}

}  // namespace

Judgement judge_shape(const CurveFacts& facts) {
  Judgement out;
  collapse(facts, out);
  jitter(facts, out);
  humps(facts, out);
  steps(facts, out);
  cold_start(facts, out);
  in_place_differs(facts, out);
  return out;
}

}  // namespace comm_probe::diagnose
