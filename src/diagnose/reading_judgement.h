// Everything that curve says about one input: each of its curves analysed and compared with its
// reference, its tests of links. The same finding of several curves of one text (two runs mixed
// line by line) is said once. What several inputs say together (pairs of nodes, fleets, host
// against GPU memory) is judged by fleet.h and compare_link_tests().
#pragma once

#include <vector>

#include "diagnose/curve_facts.h"
#include "diagnose/curve_reference.h"
#include "diagnose/diagnose.h"
#include "diagnose/link_ceiling.h"

namespace comm_probe::diagnose {

struct JudgedCurve {
  const curve::Curve* curve = nullptr;
  curve::Analysis analysis = {};
  std::optional<Expectation> expectation = {};
  std::optional<PlanPrice> plan = {};  // what NCCL's model gives on the machine that was named
  Judgement judgement = {};
};

struct JudgedReading {
  const curve::Reading* reading = nullptr;
  std::vector<JudgedCurve> curves = {};
  std::vector<LinkReference> link_references = {};  // what each test of a link was compared with
  Judgement judgement = {};                         // of all curves and links together
};
JudgedReading judge_reading(const curve::Reading& reading, const Reference& reference);

}  // namespace comm_probe::diagnose
