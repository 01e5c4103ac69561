// What a Kineto trace says outside of its events: distributedInfo (rank, world, groups),
// deviceProperties, baseTimeNanoseconds. The values are captured as text and read here.
//
//   distributedInfo {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0",
//   "pg_desc": "default_pg", "pg_size": 8, "ranks": [0, 1, 2, 3, 4, 5, 6, 7]}]}
//   -> rank 3 of 8, group "0" of ranks 0-7
#pragma once

#include <string_view>
#include <vector>

#include "torch/trace.h"

namespace comm_probe::torch {

// Whether read_header_value() asks for the value of this key.
bool is_header_key(std::string_view key);
// Values that are not what they should be change nothing.
void read_header_value(std::string_view key, std::string_view value, Trace& trace,
                       std::vector<TraceGroup>& configured);

}  // namespace comm_probe::torch
