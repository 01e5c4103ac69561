// Which collectives of a recorded job could have been one.
#pragma once

#include "sim/step_record.h"

namespace comm_probe::sim {

// By meeting: the one that it goes into, itself where it stays. `most`: bytes of the whole.
std::vector<int> merged_into(const StepRecord& record, std::uint64_t most);

}  // namespace comm_probe::sim
