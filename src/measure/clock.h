// Seconds of the monotonic clock, for differences of times of one machine (any process reads the
// same clock), and whether others had the CPU meanwhile.
#pragma once

#include <cstdint>

namespace comm_probe::measure {

double now_seconds();
// How often the scheduler has taken the CPU from this process for another one.
std::int64_t preemptions_so_far();

}  // namespace comm_probe::measure
