// The section of `trace` about what kills overlap: findings, and result.killers[] with the count
// per step and rank.
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/trace_killers.h"
#include "torch/trace.h"

namespace comm_probe::cli {

// After find_steps(); the traces are of ranks that differ. Returns what was found on each rank.
std::vector<diagnose::KillerUse> add_killers(const std::vector<torch::Trace>& traces,
                                             core::Document& document);

}  // namespace comm_probe::cli
