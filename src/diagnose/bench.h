// Is what `bench` measured right? Wrong results and a rank that died are errors, whatever the
// times.
#pragma once

#include <vector>

#include "core/finding.h"
#include "measure/measure.h"

namespace comm_probe::diagnose {

std::vector<core::Finding> judge_bench(const measure::Run& run);

}  // namespace comm_probe::diagnose
