// What inference engines said of their communication (start-up, KV transfers, experts, failures),
// as `log` shows it.
#pragma once

#include "core/document.h"
#include "serving/engine_reader.h"

namespace comm_probe::cli {

core::Json engine_json(const serving::EngineFacts& facts);
std::vector<core::Block> engine_blocks(const serving::EngineFacts& facts);

}  // namespace comm_probe::cli
