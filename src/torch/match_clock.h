// The clocks of all ranks against one, from the ends of what they did together.
#pragma once

#include <span>
#include <vector>

#include "torch/match.h"

namespace comm_probe::torch {

// From synchronising meetings of at least two ranks; with `only_accepted` the others are left out.
// offset_r = median(end_r - end_reference), chained over the pairs that met most often.
std::vector<ClockOffset> align_clocks(const CommJob& job, std::span<const Meeting> meetings,
                                      bool only_accepted);

}  // namespace comm_probe::torch
