// Everything that curve says about one input: each of its curves analysed and compared with its
// reference, its pairs of nodes compared with each other. The same finding of several curves of one
// text (two runs mixed line by line) is said once.
#pragma once

#include <vector>

#include "diagnose/curve_facts.h"
#include "diagnose/curve_reference.h"
#include "diagnose/diagnose.h"

namespace comm_probe::diagnose {

struct JudgedCurve {
  const curve::Curve* curve = nullptr;
  curve::Analysis analysis = {};
  std::optional<Expectation> expectation = {};
  std::optional<PlanPrice> plan = {};  // what NCCL's model gives on the machine that was named
  Judgement judgement = {};
};

struct JudgedReading {
  std::vector<JudgedCurve> curves = {};
  std::size_t links = 0;     // tests of links
  Judgement judgement = {};  // of all curves, pairs and links together
};
JudgedReading judge_reading(const curve::Reading& reading, const Reference& reference);

}  // namespace comm_probe::diagnose
