// Is what `bench` measured right? Wrong results and a rank that died are errors, whatever the
// times.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "measure/measure.h"

namespace comm_probe::diagnose {

struct BenchJudgement {
  std::string verdict = {};
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};
};
BenchJudgement judge_bench(const measure::Run& run);

}  // namespace comm_probe::diagnose
