// Benchmark results that were written as JSON: by nccl-tests (-J FILE, file versions 2 to 4) and by
// `comm-probe bench --json` and `comm-probe curve --json` (design/cli.md).
#pragma once

#include "curve/curve.h"

namespace comm_probe::curve {

// Larger documents are refused: a run has some hundred sizes.
inline constexpr std::uint64_t kLargestJson = std::uint64_t{256} << 20;

// kind "nccl-tests-json" or "comm-probe-json". Fails where the document is neither.
core::Result<Reading> read_json(core::Input& input);

}  // namespace comm_probe::curve
