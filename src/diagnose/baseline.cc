#include "diagnose/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/parallel.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using core::format_bytes;
using core::format_duration;
using core::format_number;
using core::make_finding;
using model::ShapePoint;

// name, value, applies when, source
constexpr double kChance = 0.01;       // three regions per curve: 3 % of all comparisons at most
constexpr double kLeastChange = 0.03;  // c80 against c83: below 1.5 % in every region
constexpr double kFarOff = 1.5;        // one size alone, both columns; repeats stay below 1.3
constexpr double kSameSize = 1e-9;     // sizes are whole numbers of bytes
constexpr double kLatencyTimes = 2;    // of the left end
constexpr std::size_t kMostEvidence = 4;

Region region_of(const ShapePoint& point, const model::Shape& shape) {
  if (shape.left_end && point.better() <= shape.left_end->latency * kLatencyTimes)
    return Region::kLatency;
  if (shape.plateau && point.bytes >= shape.plateau->reached) return Region::kPlateau;
  return Region::kMiddle;
}

const ShapePoint* same_size(const std::vector<ShapePoint>& points, core::Bytes bytes) {
  const auto point = std::find_if(points.begin(), points.end(), [&](const ShapePoint& each) {
    return std::abs(each.bytes / bytes - 1) < kSameSize;
  });
  return point == points.end() ? nullptr : &*point;
}

std::vector<SizePair> pair_sizes(const JudgedCurve& curve, const JudgedCurve& baseline) {
  std::vector<SizePair> pairs;
  for (const ShapePoint& before : baseline.analysis.points) {
    const ShapePoint* after = same_size(curve.analysis.points, before.bytes);
    if (after == nullptr) continue;
    SizePair pair{
        before.bytes, region_of(before, baseline.analysis.shape), before.time, after->time, {}};
    if (before.again && after->again) pair.again_ratio = *after->again / *before.again;
    pairs.push_back(pair);
  }
  return pairs;
}

RegionResult test_region(Region region, const std::vector<SizePair>& pairs) {
  RegionResult result{region, 0, {}};
  std::vector<double> ratios;
  for (const SizePair& pair : pairs) {
    if (pair.region != region) continue;
    ++result.sizes;
    ratios.push_back(pair.ratio());
    if (pair.again_ratio) ratios.push_back(*pair.again_ratio);
  }
  result.test = model::paired_test(ratios);
  return result;
}

core::Evidence evidence_of(const Comparison& comparison, const SizePair& pair) {
  const curve::Row* row = row_at(comparison.curve->curve->rows.empty() ? *comparison.baseline->curve
                                                                       : *comparison.curve->curve,
                                 pair.bytes);
  return {comparison.curve->curve->file, row == nullptr ? 0 : row->line,
          fmt::format("{}: {}, in the baseline {} ({} times)", format_bytes(pair.bytes),
                      format_duration(pair.after), format_duration(pair.before),
                      format_number(pair.ratio(), 3))};
}

// The sizes that changed most, by name.
void add_evidence(Finding& finding, const Comparison& comparison, std::vector<SizePair> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(), [](const SizePair& a, const SizePair& b) {
    return std::abs(std::log(a.ratio())) > std::abs(std::log(b.ratio()));
  });
  for (const SizePair& pair : pairs)
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back(evidence_of(comparison, pair));
}

std::vector<SizePair> pairs_in(Region region, const std::vector<SizePair>& pairs) {
  std::vector<SizePair> inside;
  for (const SizePair& pair : pairs)
    if (pair.region == region) inside.push_back(pair);
  return inside;
}

std::string interval(const model::PairedTest& test) {
  return fmt::format("{} times the time of the baseline (95 % interval {} to {}, p {}, {} pairs)",
                     format_number(test.ratio, 4), format_number(test.low, 4),
                     format_number(test.high, 4), format_number(test.p, 2), test.pairs);
}

void say_region(const RegionResult& result, Comparison& out) {
  if (!result.test || !is_difference(*result.test)) return;
  const bool slower = result.test->ratio > 1;
  Finding finding = make_finding(
      slower ? "curve.regression" : "curve.improvement",
      fmt::format("{}: the {} takes {}", name_of(*out.curve->curve),
                  result.region == Region::kMiddle ? "range between latency and plateau"
                                                   : region_name(result.region),
                  interval(*result.test)));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = {{1, "x", core::Basis::kRead, "the baseline " + out.baseline->curve->file}};
  finding.observed = {{result.test->ratio, "x", core::Basis::kRead, out.curve->curve->file}};
  add_evidence(finding, out, pairs_in(result.region, out.sizes));
  finding.next = {"repeat both runs, alternating, before anything is changed"};
  out.judgement.findings.push_back(std::move(finding));
}

bool region_is_said(const Comparison& out, Region region) {
  return std::any_of(out.regions.begin(), out.regions.end(), [&](const RegionResult& result) {
    return result.region == region && result.test && is_difference(*result.test);
  });
}

bool is_slow_alone(const SizePair& pair) {
  return pair.ratio() >= kFarOff && (!pair.again_ratio || *pair.again_ratio >= kFarOff);
}

void say_single_sizes(Comparison& out) {
  std::vector<SizePair> slow;
  for (const SizePair& pair : out.sizes)
    if (is_slow_alone(pair) && !region_is_said(out, pair.region)) slow.push_back(pair);
  if (slow.empty() || out.curve->analysis.shape.jitter) return;
  std::string names;
  for (const SizePair& pair : slow)
    names += fmt::format("{}{} ({} times)", names.empty() ? "" : ", ", format_bytes(pair.bytes),
                         format_number(pair.ratio(), 3));
  Finding finding =
      make_finding("curve.regression", fmt::format("{}: single sizes take much longer than in the "
                                                   "baseline: {}",
                                                   name_of(*out.curve->curve), names));
  finding.confidence = core::Confidence::kPossible;
  add_evidence(finding, out, slow);
  finding.next = {"repeat these sizes; the same step in both runs would be a switch of algorithm"};
  out.judgement.findings.push_back(std::move(finding));
}

core::Caveat unmatched(const JudgedCurve& curve, const std::string& baseline,
                       const std::string& why) {
  return core::make_caveat("curve.baseline-unmatched",
                           fmt::format("{} ({}:{}): {} {}", name_of(*curve.curve),
                                       curve.curve->file, curve.curve->first_line, baseline, why),
                           "this curve is not compared with the baseline");
}

std::string type_of(const curve::Curve& curve) {
  return curve.rows.empty() ? std::string()
                            : std::string(std::string_view(curve.rows.front().type));
}

bool is_same_operation(const curve::Curve& a, const curve::Curve& b) {
  return a.op == b.op && (a.op || a.program == b.program);
}

bool measures_the_same(const curve::Curve& a, const curve::Curve& b) {
  return is_same_operation(a, b) && type_of(a) == type_of(b) &&
         (!a.ranks || !b.ranks || a.ranks == b.ranks);
}

// Why no curve of the baseline is the counterpart: the nearest one names the difference.
std::string why_unmatched(const JudgedCurve& curve, const JudgedReading& baseline) {
  std::string why = "has no curve of this operation";
  for (const JudgedCurve& candidate : baseline.curves) {
    if (!is_same_operation(*curve.curve, *candidate.curve)) continue;
    if (candidate.curve->rows.empty()) continue;
    if (type_of(*curve.curve) != type_of(*candidate.curve))
      why = fmt::format("has it for type {}, not {}", type_of(*candidate.curve),
                        type_of(*curve.curve));
    else
      return fmt::format("has it on {} ranks, not on {}", candidate.curve->ranks.value_or(0),
                         curve.curve->ranks.value_or(0));
  }
  return why;
}

// A forced algorithm in the label may be what is compared, so it only decides between several.
const JudgedCurve* counterpart(const JudgedCurve& curve, const JudgedReading& baseline) {
  const JudgedCurve* found = nullptr;
  for (const JudgedCurve& candidate : baseline.curves) {
    if (candidate.curve->rows.empty() || !measures_the_same(*curve.curve, *candidate.curve))
      continue;
    if (candidate.curve->label == curve.curve->label) return &candidate;
    if (found == nullptr) found = &candidate;
  }
  return found;
}

Comparison compare_one(const JudgedCurve& curve, const JudgedReading& baseline) {
  Comparison out;
  out.curve = &curve;
  out.baseline = counterpart(curve, baseline);
  const std::string name =
      baseline.curves.empty() ? "the baseline" : baseline.curves.front().curve->file;
  if (out.baseline == nullptr) {
    out.judgement.caveats.push_back(unmatched(curve, name, why_unmatched(curve, baseline)));
    return out;
  }
  const bool took_turns =
      shared_gpu(*curve.curve) != nullptr || shared_gpu(*out.baseline->curve) != nullptr;
  if (took_turns) {
    out.judgement.caveats.push_back(
        unmatched(curve, name, "or it was measured by ranks that took turns on one GPU"));
    return out;
  }
  out.sizes = pair_sizes(curve, *out.baseline);
  bool any = false;
  for (const Region region : {Region::kLatency, Region::kMiddle, Region::kPlateau}) {
    out.regions.push_back(test_region(region, out.sizes));
    any = any || out.regions.back().test;
    say_region(out.regions.back(), out);
  }
  say_single_sizes(out);
  if (!any && out.judgement.findings.empty())
    out.judgement.caveats.push_back(unmatched(curve, name, "has too few common sizes"));
  return out;
}

}  // namespace

const char* region_name(Region region) {
  switch (region) {
    case Region::kLatency:
      return "latency";
    case Region::kMiddle:
      return "middle";
    case Region::kPlateau:
      return "plateau";
  }
  return "?";
}

double least_change() { return kLeastChange; }

bool is_beyond_chance(const model::PairedTest& test) { return test.p < kChance; }

bool is_difference(const model::PairedTest& test) {
  return is_beyond_chance(test) && std::abs(std::log(test.ratio)) >= std::log1p(kLeastChange);
}

namespace {

// A difference that is real but below what counts: said as it is.
std::string small_difference(std::span<const Comparison> comparisons) {
  const RegionResult* largest = nullptr;
  std::string file;
  for (const Comparison& comparison : comparisons)
    for (const RegionResult& result : comparison.regions) {
      if (!result.test || !is_beyond_chance(*result.test)) continue;
      if (is_difference(*result.test)) return "";
      const double change = std::abs(std::log(result.test->ratio));
      if (largest != nullptr && change <= std::abs(std::log(largest->test->ratio))) continue;
      largest = &result;
      file = comparison.baseline->curve->file;
    }
  if (largest == nullptr) return "";
  const double ratio = largest->test->ratio;
  return fmt::format(
      "no difference that counts from the baseline {}: {} {} in the {} (p {}), and less than {} is "
      "no finding",
      file, core::format_percent(std::abs(ratio - 1), 2), ratio > 1 ? "slower" : "faster",
      region_name(largest->region), core::format_number(largest->test->p, 2),
      core::format_percent(kLeastChange, 2));
}

}  // namespace

std::string comparison_sentence(std::span<const Comparison> comparisons) {
  double detectable = kLeastChange;
  int compared = 0, faster = 0;
  std::string file;
  for (const Comparison& comparison : comparisons)
    for (const RegionResult& result : comparison.regions) {
      if (!result.test) continue;
      ++compared;
      faster += is_difference(*result.test) && result.test->ratio < 1 ? 1 : 0;
      detectable = std::max(detectable, result.test->detectable);
      file = comparison.baseline->curve->file;
    }
  if (compared == 0) return "";
  if (const std::string small = small_difference(comparisons); !small.empty()) return small;
  if (faster > 0) return fmt::format("faster than the baseline {}, see the findings", file);
  return fmt::format(
      "no difference from the baseline {}: {} regions compared; a change of {} would "
      "have been seen",
      file, compared, core::format_percent(detectable, 2));
}

std::vector<Comparison> compare(const std::vector<JudgedReading>& readings,
                                const JudgedReading& baseline) {
  std::vector<const JudgedCurve*> measured;
  for (const JudgedReading& reading : readings)
    for (const JudgedCurve& curve : reading.curves)
      if (!curve.curve->rows.empty()) measured.push_back(&curve);
  std::vector<Comparison> comparisons(measured.size());
  core::for_each_index(measured.size(), [&](std::size_t i) {
    comparisons[i] = compare_one(*measured[i], baseline);
  });
  return comparisons;
}

}  // namespace comm_probe::diagnose
