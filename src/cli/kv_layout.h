// `--kv-layout MODEL[:KEY=VALUE,...]`: the pieces that one decode rank reads of a request's KV
// cache, as vLLM's NixlConnector posts them. Keys: tokens (4096), tp (8), block (16), dtype (bf16),
// merge (1: neighbouring pieces that are sent as one).
//
//   llama-3-70b:tokens=4096,tp=8 -> 40960 pieces of 4 KiB, 160 MiB
#pragma once

#include <string>

#include "core/result.h"
#include "measure/measure.h"

namespace comm_probe::cli {

core::Result<measure::Scattered> parse_kv_layout(const std::string& text);

}  // namespace comm_probe::cli
