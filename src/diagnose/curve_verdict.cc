#include "diagnose/curve_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/units.h"
#include "diagnose/link_verdict.h"
#include "model/island.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using core::format_bandwidth;
using core::format_number;

std::vector<const JudgedCurve*> all_curves(std::span<const JudgedReading> readings) {
  std::vector<const JudgedCurve*> curves;
  for (const JudgedReading& reading : readings)
    for (const JudgedCurve& curve : reading.curves) curves.push_back(&curve);
  return curves;
}

struct Worst {
  const Finding* finding = nullptr;
  int serious = 0;  // errors and warnings
};
void look_at(const Judgement& judgement, Worst& worst) {
  for (const Finding& finding : judgement.findings) {
    if (finding.severity == core::Severity::kInfo) continue;
    ++worst.serious;
    if (worst.finding == nullptr || finding.severity < worst.finding->severity)
      worst.finding = &finding;
  }
}

std::string level_text(const JudgedCurve& judged) {
  const auto& plateau = judged.analysis.shape.plateau;
  if (!plateau) return "";
  return fmt::format("plateau {}", format_bandwidth(plateau->sustained));
}

// One size says something about itself only.
std::string size_note(const JudgedCurve& judged) {
  const auto& points = judged.analysis.points;
  return points.size() == 1 ? " at one size, " + core::format_bytes(points.front().bytes) : "";
}

std::string ring_band_text(const JudgedCurve& judged) {
  const Expectation& expected = *judged.expectation;
  return fmt::format(
      "consistent: {}: plateau {} is not below the ring's band {}-{} GB/s ({}); NCCL's trees are "
      "not "
      "priced yet and reach up to {} on two nodes, so that a loss can hide here: compare with a "
      "good "
      "run (--baseline)",
      name_of(*judged.curve), format_bandwidth(judged.analysis.shape.plateau->sustained),
      format_number(expected.low.in_GBps(), 3), format_number(expected.high.in_GBps(), 3),
      expected.source, format_bandwidth(*expected.trees_reach));
}

// Ports of NICs, Gb/s.
constexpr std::array kPorts = {1, 10, 25, 40, 50, 100, 200, 400};
// No node of the catalog has more network than this.
const core::Bandwidth kMostOfANode = core::Bandwidth::from_Gbps(8 * 400);

std::string ports_text(core::Bandwidth needed) {
  for (const int port : kPorts)
    if (needed.in_GBps() <= port / 8.0) return fmt::format("one {} Gb/s port", port);
  return fmt::format("{} ports of 400 Gb/s", static_cast<int>(std::ceil(needed.in_GBps() / 50)));
}

// What the plateau means in NICs: a ring with this busbw needs this much out of every node.
std::string nic_meaning(const JudgedCurve& judged) {
  const curve::Curve& curve = *judged.curve;
  const auto& plateau = judged.analysis.shape.plateau;
  if (!curve.op || !curve.ranks || curve.nodes.value_or(1) < 2 || !plateau) return "";
  const auto per_unit =
      model::island_bound(*curve.op, *curve.ranks, *curve.nodes, core::Bandwidth::from_GBps(1));
  if (!per_unit || per_unit->ring.in_GBps() <= 0) return "";
  const auto needed = core::Bandwidth::from_GBps(plateau->peak / per_unit->ring);
  const bool is_direct = *curve.op == model::Op::kAllToAll || *curve.op == model::Op::kSendRecv;
  const std::string way = is_direct ? "sent directly" : "in a ring";
  if (needed > kMostOfANode)
    return fmt::format(
        "; {} that is {} out of each node, more than 8 ports of 400 Gb/s: a tree over two nodes, "
        "or nodes of one NVLink domain, need less; name the machine with --machine",
        way, format_bandwidth(needed));
  return fmt::format(
      "; {} that is {} out of each node, what {} per node can carry: nodes with more do not use "
      "them fully; name them with --machine, or --beta",
      way, format_bandwidth(needed), ports_text(needed));
}

std::string healthy_text(const JudgedCurve& judged) {
  const Expectation& expected = *judged.expectation;
  const core::Bandwidth plateau = judged.analysis.shape.plateau->sustained;
  return fmt::format("{}: plateau {}{}, {} {}-{} GB/s ({})", name_of(*judged.curve),
                     format_bandwidth(plateau), size_note(judged),
                     plateau > expected.high ? "above" : "within",
                     format_number(expected.low.in_GBps(), 3),
                     format_number(expected.high.in_GBps(), 3), expected.source);
}

std::string no_reference_text(const JudgedCurve& judged) {
  const std::string level = level_text(judged), meaning = nic_meaning(judged);
  return fmt::format("consistent: no reference named: {}{}{}", name_of(*judged.curve),
                     level.empty() ? "" : ", " + level,
                     meaning.empty()
                         ? "; nothing in it contradicts itself, and nothing says what its "
                           "links should carry"
                         : meaning);
}

std::string one_curve(const JudgedCurve& judged) {
  const std::string name = name_of(*judged.curve);
  switch (standing_of(judged)) {
    case Standing::kHealthy:
      return "healthy: " + healthy_text(judged);
    case Standing::kRingBand:
      return ring_band_text(judged);
    case Standing::kPathOpen:
      return fmt::format("consistent: {}, {}; what it should be depends on which GPUs ran: {}",
                         name, level_text(judged), judged.expectation->source);
    case Standing::kBelowBand:
      return fmt::format("below the usual band: {}, {}; see the finding", name, level_text(judged));
    case Standing::kBelowModel:
      return fmt::format("consistent: {}, {}, {} of what NCCL's model gives; see the finding", name,
                         level_text(judged), core::format_percent(judged.plan->share(), 2));
    case Standing::kPlanOnly:
      return fmt::format("consistent: {}, {}, {} of what NCCL's model gives for it", name,
                         level_text(judged), core::format_percent(judged.plan->share(), 2));
    case Standing::kNotSaturated:
      return fmt::format("consistent: {}; its sizes do not show the plateau of the links", name);
    case Standing::kNoReference:
      return no_reference_text(judged);
    case Standing::kSharedGpu:
      return "not judged: " + name + ": its ranks took turns on one GPU";
    case Standing::kEmpty:
      return "nothing measured: " + name +
             (judged.curve->rows.empty() ? " has no rows" : " has no time in its rows");
    case Standing::kFaulty:
      return "faulty: " + name;
  }
  return name;
}

std::string several_curves(const std::vector<const JudgedCurve*>& curves) {
  std::map<Standing, int> count;
  for (const JudgedCurve* curve : curves) ++count[standing_of(*curve)];
  const int all = static_cast<int>(curves.size());
  if (count[Standing::kHealthy] == all)
    return fmt::format("healthy: {} curves, all within their references", all);
  std::string parts;
  for (const auto& [standing, number] : count)
    if (number > 0)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", number, standing_name(standing));
  return fmt::format("consistent: {} curves: {}", all, parts);
}

// What was named for the run contradicts its header.
const core::Caveat* contradiction_of(const std::vector<const JudgedCurve*>& curves) {
  for (const JudgedCurve* curve : curves)
    for (const core::Caveat& caveat : curve->judgement.caveats)
      if (caveat.limits &&
          (caveat.id == "curve.hardware-differs" || caveat.id == "curve.nodes-differ" ||
           caveat.id == "curve.file-name-contradicted"))
        return &caveat;
  return nullptr;
}

// Of pairs of nodes without a warning.
std::string pairs_verdict(const Judgement& across) {
  for (const core::Caveat& caveat : across.caveats)
    if (caveat.limits) return "not judged: " + caveat.missing;
  if (!across.findings.empty()) return "consistent: " + across.findings.front().summary;
  return "healthy: no pair of nodes is slower than 85 % of the median";
}

}  // namespace

const char* standing_name(Standing standing) {
  switch (standing) {
    case Standing::kFaulty:
      return "faulty";
    case Standing::kHealthy:
      return "healthy";
    case Standing::kRingBand:
      return "in the ring's band";
    case Standing::kPathOpen:
      return "path not known";
    case Standing::kBelowBand:
      return "below the band";
    case Standing::kBelowModel:
      return "below NCCL's model";
    case Standing::kPlanOnly:
      return "as NCCL's model";
    case Standing::kNotSaturated:
      return "not saturated";
    case Standing::kNoReference:
      return "without a reference";
    case Standing::kSharedGpu:
      return "on a shared GPU";
    case Standing::kEmpty:
      return "without rows";
  }
  return "?";
}

Standing standing_of(const JudgedCurve& judged) {
  const auto& findings = judged.judgement.findings;
  if (std::any_of(findings.begin(), findings.end(),
                  [](const Finding& finding) { return finding.severity != core::Severity::kInfo; }))
    return Standing::kFaulty;
  if (!judged.curve->rows.empty() && shared_gpu(*judged.curve) != nullptr)
    return Standing::kSharedGpu;
  if (judged.curve->rows.empty() || !judged.analysis.shape.plateau) return Standing::kEmpty;
  if (judged.judgement.has("curve.plateau-below-band")) return Standing::kBelowBand;
  if (judged.judgement.has("curve.below-nccl-model")) return Standing::kBelowModel;
  const auto& plateau = *judged.analysis.shape.plateau;
  // A single size that reaches the band needs no other one.
  if (!judged.expectation && judged.plan && plateau.is_saturated()) return Standing::kPlanOnly;
  const bool reached = judged.expectation && plateau.sustained >= judged.expectation->low;
  if (reached && judged.expectation->trees_reach && plateau.sustained <= judged.expectation->high)
    return Standing::kRingBand;
  if (reached && judged.expectation->depends_on_gpus &&
      plateau.sustained <= judged.expectation->high)
    return Standing::kPathOpen;
  if (reached) return Standing::kHealthy;
  if (!plateau.is_saturated()) return Standing::kNotSaturated;
  return Standing::kNoReference;
}

std::string verdict_of(std::span<const JudgedReading> readings,
                       std::span<const Comparison> comparisons, const Judgement& across) {
  Worst worst;
  look_at(across, worst);
  for (const JudgedReading& reading : readings) look_at(reading.judgement, worst);
  for (const Comparison& comparison : comparisons) look_at(comparison.judgement, worst);
  if (worst.finding != nullptr) {
    const std::string more =
        worst.serious > 1 ? fmt::format(" (and {} more)", worst.serious - 1) : "";
    return fmt::format("{}: {}{}", severity_name(worst.finding->severity), worst.finding->summary,
                       more);
  }
  const bool nothing_compared =
      !comparisons.empty() &&
      std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& comparison) {
        return !comparison.judgement.caveats.empty();
      });
  if (nothing_compared)
    return "not compared with the baseline: " +
           comparisons.front().judgement.caveats.front().missing;
  const std::string compared = comparison_sentence(comparisons);
  if (!compared.empty()) return compared;
  const auto curves = all_curves(readings);
  if (const core::Caveat* contradiction = contradiction_of(curves))
    return "not judged: " + contradiction->missing;
  if (curves.empty()) {
    const std::string links = link_verdict(readings);
    return links.empty() ? pairs_verdict(across) : links;
  }
  return curves.size() == 1 ? one_curve(*curves.front()) : several_curves(curves);
}

}  // namespace comm_probe::diagnose
