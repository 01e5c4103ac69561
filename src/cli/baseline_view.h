// The comparison with a baseline as `curve` shows it.
#pragma once

#include <string>
#include <vector>

#include "core/document.h"
#include "core/json.h"
#include "diagnose/baseline.h"

namespace comm_probe::cli {

// {file, sizes[], regions[]} of one curve; null where the baseline has no counterpart.
core::Json comparison_json(const diagnose::Comparison& comparison);
// Per curve: the three regions with ratio, interval and what would have been seen.
std::vector<core::Block> comparison_blocks(const std::vector<diagnose::Comparison>& comparisons);
// Size by size (--explain).
std::vector<core::Block> comparison_details(const std::vector<diagnose::Comparison>& comparisons);

}  // namespace comm_probe::cli
