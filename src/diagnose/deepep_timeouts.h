// Time-outs of DeepEP name who waits, and most of them for whom. Who is named by most and waits for
// nobody did not enter the call. One that waits itself did enter: too late, or its messages do not
// arrive; two that wait for each other as well.
// Worked example (tests/unit/diagnose/deepep_test.cc): ranks 2 and 3 wait for rank 9, and
// 9 for 2: rank 9, possible.
#pragma once

#include <optional>
#include <span>

#include "core/finding.h"
#include "serving/readers/deepep_lines.h"

namespace comm_probe::diagnose {

std::optional<core::Finding> judge_deepep_timeouts(
    std::span<const serving::DeepEpTimeout> timeouts);

}  // namespace comm_probe::diagnose
