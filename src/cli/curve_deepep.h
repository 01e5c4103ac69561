// What `curve` shows of DeepEP's prints: the printed bandwidth, and what of it is on the wire.
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/deepep.h"

namespace comm_probe::cli {

core::Json deepep_json(const diagnose::JudgedDeepEp& judged);
std::vector<core::Block> deepep_blocks(const std::vector<diagnose::JudgedDeepEp>& rates,
                                       const diagnose::DeepEpFacts& facts);
// "1 line of DeepEP", for a verdict where nothing else was read.
std::string deepep_verdict(const serving::DeepEpLines& lines,
                           const diagnose::DeepEpJudgement& judgement);

}  // namespace comm_probe::cli
