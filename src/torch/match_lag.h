// Two ranks recorded the same calls, but began at different ones: by how many is one list shifted?
// Each lag in [-8, 8] is scored by its pairs: a pair counts 1 where operation, size and step agree
// and the ends differ by the common offset exactly, less the further its end is off, 0 beyond the
// tolerance or where the calls disagree.
//
// Worked example: eight equal calls on both sides, the second list begins one call later: lag 0
// would pair all eight, but a call of step 11 with one of step 10; lag 1 pairs seven that agree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "torch/comm_calls.h"

namespace comm_probe::torch {

// Calls of one rank in launch order.
using CallList = std::vector<const CommCall*>;

// call i of `other` belongs with call i + lag of `reference`.
int best_lag(const CallList& reference, const CallList& other, bool has_clock);

// The two can be one collective: operation, type and size do not contradict each other.
bool agree(const CommCall& one, const CommCall& other);

// How far from the common end an end may lie: 50 us, or the shortest of the durations.
std::int64_t end_tolerance(std::int64_t shortest);

// The middle one, the lower of two.
std::int64_t median_of(std::vector<std::int64_t> values);

}  // namespace comm_probe::torch
