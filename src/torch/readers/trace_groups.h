// The process groups of a trace: those of distributedInfo.pg_config, and those that the metadata of
// collectives names. A long list of ranks is shortened by PyTorch ("[0, 1, ..., 511]"): it is
// rebuilt from start and stride, else from pg_config, else from the distance of its first two (spec
// traces 1.4).
//
//   {name "3", ranks "[0, 8, ..., 504]", size 64, start 0, stride 8} -> 0, 8, 16, ... 504
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torch/trace.h"

namespace comm_probe::torch {

// What the metadata of one collective says about its group.
struct GroupWords {
  std::string_view name = {};
  std::string_view description = {};
  std::string_view ranks = {};
  std::int64_t size = 0;  // 0: not said
  std::int64_t start = -1;
  std::int64_t stride = 0;
};

class TraceGroups {
 public:
  // The same words, the same number; kNone where nothing is said.
  std::uint32_t number(const GroupWords& words);
  // Groups of pg_config complete those that collectives named; the others come behind them.
  std::vector<TraceGroup> finish(std::vector<TraceGroup> configured);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> known_ = {};
  std::vector<TraceGroup> groups_ = {};
  std::uint64_t last_key_ = 0;
  std::uint32_t last_ = kNone;
};

}  // namespace comm_probe::torch
