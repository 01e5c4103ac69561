// Seconds of the monotonic clock, for differences of times of one machine; any process reads the
// same clock.
#pragma once

namespace comm_probe::measure {

double now_seconds();

}  // namespace comm_probe::measure
