// The longest time in which the threads of a rank that launch kernels made no call to CUDA or HIP:
// they slept, loaded data or computed in Python. A host that waits for its device is inside of a
// call.
//
// Worked example (tests/golden/trace): rank 2 of h200/traces/straggler sleeps 150 ms in each step:
// 150 ms without a call before its first all_reduce of step 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "torch/trace.h"

namespace comm_probe::torch {

struct HostGap {
  std::int64_t from = 0;
  std::int64_t to = 0;
  // What covers all of it: a Python frame where stacks were recorded, the data loader, an
  // annotation; empty: nothing that the trace names.
  std::string during = {};
  bool in_data_loader = false;

  std::int64_t length() const { return to - from; }
};

// Between two times of the host; nothing where not two calls lie there.
std::optional<HostGap> longest_host_gap(const Trace& trace, std::int64_t from, std::int64_t to);

}  // namespace comm_probe::torch
