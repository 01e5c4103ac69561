// `log` for people (one screen, however many ranks) and as JSON.
#pragma once

#include "core/document.h"
#include "nccl/debug_log.h"

namespace comm_probe::cli {

std::vector<core::Block> log_blocks(const nccl::DebugLog& log);
// With --explain: searches, choices, every kind of warning with its count.
std::vector<core::Block> log_details(const nccl::DebugLog& log);
core::Json log_json(const nccl::DebugLog& log);

}  // namespace comm_probe::cli
