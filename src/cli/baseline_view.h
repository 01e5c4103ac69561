// The comparison with a baseline as `curve` shows it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/document.h"
#include "core/json.h"
#include "diagnose/baseline.h"

namespace comm_probe::cli {

// {file, sizes[], regions[]} of one curve; null where the baseline has no counterpart.
core::Json comparison_json(const diagnose::Comparison& comparison);
// Per curve: the three regions with ratio, interval and what would have been seen.
std::vector<core::Block> comparison_blocks(std::span<const diagnose::Comparison> comparisons);
// Size by size (--explain).
std::vector<core::Block> comparison_details(std::span<const diagnose::Comparison> comparisons);

}  // namespace comm_probe::cli
