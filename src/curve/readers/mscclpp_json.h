// What MSCCL++'s own tests write, and its CI compares with (test/deploy/perf_ndmv*.jsonl): one JSON
// object per line, algBw and busBw in GB/s, time in us, size the total as in nccl-tests.
//
//   {"name":"allreduce", "kernel":6, "ranks":8, "ranksPerNode":8, "algBw":3.98, "busBw":6.96,
//    "size":24576, "time":6.18, "target":"latency"}
//   -> all_reduce on 8 ranks of one node, kernel 6: 24 KiB in 6.18 us
#pragma once

#include <string_view>

#include "curve/curve.h"

namespace comm_probe::curve {

// Its keys stand in the beginning of a file.
bool looks_like_mscclpp(std::string_view head);
// One curve per operation, kernel and number of ranks. Fails where no line is such an object.
core::Result<Reading> read_mscclpp(core::Input& input);

}  // namespace comm_probe::curve
