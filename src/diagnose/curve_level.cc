#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_advice.h"
#include "diagnose/curve_judgement.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Finding;
using core::format_bandwidth;
using core::format_bytes;
using core::make_finding;

// name, value, applies when, source
constexpr double kLatencyHigh = 1.5;  // over steps * alpha, where alpha was given
// Without alpha: small messages of two to eight GPUs in one node take 8 to 86 us in the 14 healthy
// tables of public clusters (field curves c28-c32, c60, c80-c88); three times the slowest.
const core::Duration kMostInsideNode = core::Duration::from_us(250);
constexpr int kMostInsideRanks = 8;
const Bytes kSmallMessage = Bytes::of(16384);
constexpr double kBandwidthShare = 0.5;  // of the plateau: the bandwidth ledger of the ring model

struct Level {
  Bandwidth observed = {};
  Bytes at = {};
  double share = 1;  // of the asymptote that this size can show
};

// The plateau where the curve shows it. Otherwise the largest size is compared with what the ring
// ledger gives at this size, if that is more bandwidth than latency; smaller sizes say nothing
// about links.
std::optional<Level> level_of(const CurveFacts& facts) {
  const auto& plateau = facts.analysis.shape.plateau;
  if (!plateau) return std::nullopt;
  if (plateau->is_saturated()) return Level{plateau->sustained, plateau->peak_bytes, 1};
  const auto largest =
      std::max_element(facts.analysis.points.begin(), facts.analysis.points.end(),
                       [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const Bytes knee = facts.expectation->step * facts.expectation->ring * facts.expectation->ranks;
  const double share = largest->bytes / (largest->bytes + knee);
  if (share < kBandwidthShare) return std::nullopt;
  return Level{facts.analysis.busbw(largest->bytes, largest->time), largest->bytes, share};
}

// The sweep that would show the plateau; a single size needs smaller ones beside it.
std::string larger_sweep(const CurveFacts& facts) {
  const core::Bytes usual = core::Bytes::of(8.0 * (1 << 30));
  core::Bytes largest;
  for (const auto& point : facts.analysis.points) largest = std::max(largest, point.bytes);
  if (facts.analysis.points.size() < 2)
    return fmt::format("measure a range of sizes: -b 1M -e {} -f 2",
                       static_cast<std::uint64_t>(std::max(largest, usual).count()));
  if (largest < usual) return "measure up to 8 GiB: -e 8G -f 2";
  return fmt::format("measure up to {}: -e {} -f 2", format_bytes(largest * 4),
                     static_cast<std::uint64_t>((largest * 4).count()));
}

// Our estimates from several rows.
core::Figure estimate(Bandwidth rate, const Level& level, const std::string& file) {
  return figure(
      rate, core::Basis::kComputed,
      (level.share < 1 ? "size / time of one row of " : "median of the rows of the plateau in ") +
          file);
}

void not_saturated(const CurveFacts& facts, Judgement& out) {
  const auto& plateau = facts.analysis.shape.plateau;
  if (!plateau || plateau->is_saturated() || facts.curve.rows.empty()) return;
  if (facts.analysis.shape.collapse) return;
  // A size that is in the band already needs no larger one.
  if (facts.expectation && plateau->sustained >= facts.expectation->low) return;
  const std::string reached = plateau->saturation ? "busbw still rises at the largest size"
                                                  : "one size does not show where the plateau is";
  Finding finding = make_finding("curve.not-saturated",
                                 fmt::format("{}: {}; the bandwidth of the links cannot be "
                                             "read from it",
                                             name_of(facts.curve), reached));
  finding.confidence = core::Confidence::kLikely;
  finding.evidence.push_back(evidence_of(facts.curve, facts.curve.rows.back()));
  finding.next = {larger_sweep(facts)};
  out.findings.push_back(std::move(finding));
}

Finding level_finding(const char* id, const CurveFacts& facts, const Level& level) {
  const Expectation& expected = *facts.expectation;
  const Bandwidth low = expected.low * level.share;
  Finding finding = make_finding(
      id, fmt::format("{}: {} {}, {} of the {} that healthy runs reach at least on the links named",
                      name_of(facts.curve),
                      level.share < 1 ? "busbw at " + format_bytes(level.at) : "the plateau is",
                      format_bandwidth(level.observed),
                      core::format_percent(level.observed / low, 2), format_bandwidth(low)));
  finding.confidence = level.share < 1 ? core::Confidence::kPossible : core::Confidence::kLikely;
  finding.expected = figure(low, expected.basis, "at least; " + expected.source);
  finding.observed = estimate(level.observed, level, facts.curve.file);
  if (is_inside_one_node(facts.curve)) finding.layer = core::Layer::kHardware;
  if (const auto* row = row_at(facts.curve, level.at))
    finding.evidence.push_back(evidence_of(facts.curve, *row));
  finding.next = link_advice(facts.curve);
  return finding;
}

void plateau(const CurveFacts& facts, Judgement& out) {
  if (!facts.expectation || facts.analysis.shape.collapse) return;
  const auto level = level_of(facts);
  if (!level) return;
  const Bandwidth low = facts.expectation->low * level->share;
  if (level->observed < low * facts.expectation->far_below)
    out.findings.push_back(level_finding("curve.plateau-low", facts, *level));
  else if (level->observed < low && facts.analysis.shape.plateau->is_saturated())
    out.findings.push_back(level_finding("curve.plateau-below-band", facts, *level));
}

Finding high_latency(const CurveFacts& facts, std::string summary, core::Figure expected) {
  const model::LeftEnd& left = *facts.analysis.shape.left_end;
  Finding finding = make_finding("curve.latency-high", std::move(summary));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = std::move(expected);
  finding.observed = figure(left.latency, core::Basis::kComputed,
                            "median of the smallest sizes in " + facts.curve.file);
  if (const auto* row = row_at(facts.curve, left.first))
    finding.evidence.push_back(evidence_of(facts.curve, *row));
  return finding;
}

// What no node of up to eight GPUs needs for a small message, whatever its links are.
void latency_inside(const CurveFacts& facts, Judgement& out) {
  const model::LeftEnd& left = *facts.analysis.shape.left_end;
  const bool is_inside = is_inside_one_node(facts.curve) && facts.curve.ranks.value_or(0) >= 2 &&
                         *facts.curve.ranks <= kMostInsideRanks;
  if (!is_inside || left.latency <= kMostInsideNode || left.first > kSmallMessage) return;
  Finding finding = high_latency(
      facts,
      fmt::format(
          "{}: small messages take {}; inside one node they take 8 to 86 us in healthy runs",
          name_of(facts.curve), core::format_duration(left.latency)),
      figure(kMostInsideNode, core::Basis::kAssumed,
             "at most; three times the slowest of 14 public healthy tables"));
  finding.layer = core::Layer::kNccl;
  finding.next = {"NCCL_DEBUG=INFO: P2P, SHM or NET on the channels",
                  "env | grep NCCL_ (P2P or SHM switched off, a forced protocol)"};
  out.findings.push_back(std::move(finding));
}

void latency_beyond(core::Duration allowed, const CurveFacts& facts, Judgement& out) {
  const core::Duration latency = facts.analysis.shape.left_end->latency;
  if (latency <= allowed * kLatencyHigh) return;
  Finding finding = high_latency(
      facts,
      fmt::format("{}: small messages take {}, {} times the {} of the latency ledger",
                  name_of(facts.curve), core::format_duration(latency),
                  core::format_number(latency / allowed, 3), core::format_duration(allowed)),
      figure(allowed, core::Basis::kComputed, "steps of the ledger times the alpha given"));
  finding.next = {"comm-probe link", "NCCL_DEBUG=INFO: which network is in use"};
  out.findings.push_back(std::move(finding));
}

void latency(const CurveFacts& facts, Judgement& out) {
  if (!facts.analysis.shape.left_end) return;
  if (facts.expectation && facts.expectation->latency)
    latency_beyond(*facts.expectation->latency, facts, out);
  else
    latency_inside(facts, out);
}

}  // namespace

Judgement judge_level(const CurveFacts& facts) {
  Judgement out;
  plateau(facts, out);
  latency(facts, out);
  not_saturated(facts, out);
  return out;
}

Judgement judge_curve(const CurveFacts& facts) {
  Judgement out = judge_sanity(facts);
  const bool is_real =
      std::all_of(out.findings.begin(), out.findings.end(),
                  [](const Finding& finding) { return finding.id == "curve.wrong-results"; });
  if (!is_real || facts.curve.rows.empty()) return out;
  const bool name_is_wrong = !out.caveats.empty();
  out.add(judge_shape(facts));
  if (has_wrong_results(facts.curve)) {
    out.caveats.push_back(core::make_caveat(
        "curve.wrong-not-compared",
        fmt::format("{}: the level of {}", facts.curve.file, name_of(facts.curve)),
        "its results are wrong, so its times are compared with nothing: neither slow nor fast",
        false));
    return out;
  }
  if (!name_is_wrong) out.add(judge_level(facts));
  return out;
}

}  // namespace comm_probe::diagnose
