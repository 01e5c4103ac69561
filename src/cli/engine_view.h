// What inference engines said at start-up, and their KV transfers, as `log` shows them.
#pragma once

#include "core/document.h"
#include "serving/kv_lines.h"
#include "serving/readers/engine_lines.h"

namespace comm_probe::cli {

struct EngineFacts {
  serving::EngineLines lines = {};
  serving::KvLines kv = {};
  bool empty() const { return lines.empty() && kv.empty(); }
};

core::Json engine_json(const EngineFacts& facts);
std::vector<core::Block> engine_blocks(const EngineFacts& facts);

}  // namespace comm_probe::cli
