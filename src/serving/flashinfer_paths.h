// One-shot or two-shot in FlashInfer's all_reduce, which TensorRT-LLM's kernels are behind:
//   trtllm (one node)   one-shot to 128 tokens by one constant; on compute capability 10.x by size:
//                       tokens x hidden x 2 x ranks x item at most 512, 64, 42 MB with 2, 4, 8
//                       ranks
//   mnnvl (several)     one-shot while tokens x hidden x ranks x item is at most 1 MiB
// What TensorRT-LLM's strategy AUTO takes at which size is not known here.
// Source: FlashInfer flashinfer/comm, mid 2026; the constants change from release to release.
//
// Worked example (tests/unit/serving/sglang_backends_test.cc): 8 tokens x 8192 of bf16 on 8 B200:
// 2.1 of 42 MB, one-shot; over several nodes 1 MiB of 1 MiB, one-shot; 16 tokens there: two-shot.
#pragma once

#include <string>

#include "serving/vllm_backends.h"

namespace comm_probe::serving {

struct FlashInferAnswer {
  bool is_one_shot = false;
  std::string path = {};  // "trtllm", "mnnvl"
  std::string reason = {};
};
// Nothing where it has no path for such a job, with the reason.
struct FlashInferChoice {
  std::optional<FlashInferAnswer> answer = {};
  std::string refusal = {};
};
FlashInferChoice flashinfer_choice(const ServingJob& job, int tokens);

}  // namespace comm_probe::serving
