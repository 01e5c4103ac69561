// The tuning part of `nccl plan` as JSON: the fields `tuning` and `choice` of an oracle file
// n<nodes>.json (data/oracle/README.md); numbers with seven digits, as NCCL's floats have them.
#pragma once

#include "core/json.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

// Adds both; nothing for a lone rank, which copies.
void add_tuning_json(core::Json& result, const nccl::Tuning& tuning);

// 25.20048 and not 25.200479507446289.
core::Json json_time(nccl::NcclTime time);
// [nBytes, algorithm, protocol, predicted us, channel limit, threads, channels, chunk], or [nBytes,
// "ERROR"] where NCCL refuses the call.
core::Json choice_row(std::uint64_t bytes, const core::Result<nccl::Choice>& choice);

}  // namespace comm_probe::cli
