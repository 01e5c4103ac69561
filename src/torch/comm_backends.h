// Which implementation carried the communication, by the names of its kernels, and how its times
// are spread: NCCL's ring, tree or NVLS with LL, LL128 or Simple, the custom all_reduce of an
// inference engine, symmetric memory, FlashInfer, DeepEP (trace_words.h has the names).
//
// Worked example (tests/golden/trace): vLLM TP8 on B200, rank 0: 73 multimem all_reduces of
// symmetric memory, 24.7 to 28.1 us and one of 223 us; one all_gather by NCCL, ring, LL.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "torch/across.h"

namespace comm_probe::torch {

struct BackendUse {
  CommKernel kernel = {};
  std::string name = {};   // base name of the kernel
  std::size_t count = 0;   // over all ranks
  std::int64_t least = 0;  // ns
  std::int64_t median = 0;
  std::int64_t p95 = 0;
  std::int64_t most = 0;
  std::int64_t total = 0;
  std::optional<std::uint64_t> bytes = {};  // where all calls have one size
};

// The longest total first.
std::vector<BackendUse> backends_of(const AcrossRanks& across);

}  // namespace comm_probe::torch
