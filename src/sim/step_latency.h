// The part of a collective's transfer that no faster link takes away.
#pragma once

#include "sim/step_what_if.h"

namespace comm_probe::sim {

// ns, by StepRecord::meetings; nothing where neither alpha nor two sizes tell.
std::vector<std::optional<std::int64_t>> latencies_of(const StepRecord& record,
                                                      std::optional<core::Duration> alpha);

}  // namespace comm_probe::sim
