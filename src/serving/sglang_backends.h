// Which all-reduce kernel does SGLang take for a call? Its custom all-reduce v2 asks in this order:
//   2shot_lamport    in its window
//   1shot_push       to the push limit: no barrier, the reader polls the data itself
//   1shot_pull       to the pull limit
//   2shot_pull with multicast   in its window, with NVSwitch that multicasts
//   2shot_pull       to the overall limit, at most SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB (16 MiB)
// with limits by compute capability, ranks and CUDA graph or not. What it leaves goes on to quick
// reduce (AMD), mscclpp (where enabled), torch symmetric memory, PyNccl. Which release made v2 the
// default is not known; the object before it is that of vLLM: 2, 4, 6 or 8 ranks, below 8 MiB.
// Source: SGLang configs/custom_all_reduce_v2.py, mid 2026 (sizes read as binary units).
//
// Worked example (tests/unit/serving/sglang_backends_test.cc): 8 x H100 in a graph: 128 KiB ->
// 1shot_push; 256 KiB -> 2shot_pull; 1 MiB -> 2shot_pull with multicast; 32 MiB -> PyNccl.
#pragma once

#include <optional>
#include <string>

#include "serving/vllm_backends.h"

namespace comm_probe::serving {

struct SizeWindow {
  core::Bytes from = {};
  core::Bytes to = {};
  bool holds(core::Bytes bytes) const { return bytes >= from && bytes <= to; }
};

struct SglangLimits {
  core::Bytes push = {};
  std::optional<core::Bytes> pull = {};  // not read for some rows
  core::Bytes all = {};                  // the cap of the environment is in it
  std::optional<SizeWindow> multicast = {};
  std::optional<SizeWindow> lamport = {};
  bool is_default = false;  // no row of its own: 1 MiB, 1 MiB, 16 MiB
};
SglangLimits sglang_limits(int sm, int ranks, bool in_graph);

struct SglangAnswer {
  std::string kernel = {};  // "1shot_push"; empty: it leaves the call
  std::string reason = {};
  std::optional<SglangLimits> limits = {};  // nothing where the object is not built at all
};
SglangAnswer sglang_v2(const ServingJob& job, bool in_graph);
// The object before v2.
SglangAnswer sglang_legacy(const ServingJob& job);

}  // namespace comm_probe::serving
