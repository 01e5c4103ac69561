// Makes one slow job on purpose: four DDP ranks on one GPU, real NCCL, profiler traces of two
// steps.
//
//   class              what is planted
//   healthy            nothing, to compare with
//   tiny_collectives   twenty all_reduces of 256 bytes in every step
//   item_sync          loss.item() in every step
//   straggler          rank 2 sleeps 150 ms in every step
//
// What stays in the folder: slow_rank.py, rankN.log (output), rankN.json (traces, for `trace`),
// truth.txt (what was planted). The ranks take turns on the GPU, so a collective costs some 20 ms
// whatever its size.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "measure/lab/job.h"

namespace comm_probe::measure::lab {

struct SlowCase {
  std::string_view slow_class;
  std::string_view planted;
  std::string_view finding;  // that `trace` is expected to make; empty: none
};
std::span<const SlowCase> slow_cases();
const SlowCase* find_slow_case(std::string_view slow_class);
// python3 SCRIPT CLASS RANK RANKS FOLDER PORT
std::string_view slow_script();

struct SlowRequest {
  const SlowCase& planted;
  Job job = {};
};
struct SlowLeft {
  std::vector<int> traces = {};  // ranks that left one
  JobEnd end = {};
};
// Fails where the folder cannot be written, or a rank ended without its trace (with its last line).
core::Result<SlowLeft> make_slow(const SlowRequest& request,
                                 const std::function<void(const std::string&)>& progress);

}  // namespace comm_probe::measure::lab
