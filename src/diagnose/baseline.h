// Two runs of the same operation: do they differ by more than chance, and where?
//
// One pair per size and column (out of place against out of place, in place against in place): the
// ratio of the times. Sizes are put into three regions by the baseline: latency (time within twice
// its left end), plateau (from 90 % of its peak on), and what lies between. Each region is tested
// by itself (model/paired.h: signed ranks), because a slow link shows in the plateau and a slow
// path of small messages in the latency. A difference counts where p < 0.01 and the ratio is at
// least 3 %: two runs of the same machine (c80 and c83 of the field curves) differ by less. One
// size that is far off in both columns is named even where the region as a whole is not.
//
// Worked example (tests/unit/diagnose/baseline_test.cc repeats it): c71 against c70 of the field
// curves, the same two nodes' worth of hardware: all_to_all takes 1.4 to 15 times as long.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/curve_facts.h"
#include "diagnose/diagnose.h"
#include "diagnose/reading_judgement.h"
#include "model/paired.h"

namespace comm_probe::diagnose {

enum class Region { kLatency, kMiddle, kPlateau };
const char* region_name(Region region);  // "latency" | "middle" | "plateau"

struct SizePair {
  core::Bytes bytes = {};
  Region region = Region::kMiddle;
  core::Duration before = {};
  core::Duration after = {};
  std::optional<double> again_ratio = {};  // of the in-place times
  double ratio() const { return after / before; }
};

struct RegionResult {
  Region region = Region::kLatency;
  int sizes = 0;
  std::optional<model::PairedTest> test = {};  // absent: too few sizes
};

struct Comparison {
  const JudgedCurve* curve = nullptr;
  const JudgedCurve* baseline = nullptr;  // null: no counterpart
  std::vector<SizePair> sizes = {};
  std::vector<RegionResult> regions = {};
  Judgement judgement = {};
};

// p < 0.01
bool is_beyond_chance(const model::PairedTest& test);
// p < 0.01 and at least 3 %.
bool is_difference(const model::PairedTest& test);
double least_change();  // 0.03

// "no difference from the baseline ...", or nothing where there is nothing to compare.
std::string comparison_sentence(std::span<const Comparison> comparisons);

// Every curve with the curve of the baseline that measured the same (operation, type, ranks,
// label).
std::vector<Comparison> compare(const std::vector<JudgedReading>& readings,
                                const JudgedReading& baseline);

}  // namespace comm_probe::diagnose
