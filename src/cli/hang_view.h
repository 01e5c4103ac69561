// A verdict as JSON (result.verdict of design/cli.md) and as one screen of text.
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/hang.h"

namespace comm_probe::cli {

core::Json verdict_json(const torch::Job& job, const diagnose::HangVerdict& verdict);
std::vector<core::Block> verdict_blocks(const torch::Job& job,
                                        const diagnose::HangJudgement& judgement);
// The path to the verdict, for -v: who waits for whom in every open call, and what was rejected.
std::vector<core::Block> wait_blocks(const torch::Job& job);
// "count_mismatch: rank 3, call 11 of group 0 (certain)"
std::string verdict_line(const torch::Job& job, const diagnose::HangVerdict& verdict);

}  // namespace comm_probe::cli
