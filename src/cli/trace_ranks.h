// What the sections of a trace report share: how times and shares are written.
#pragma once

#include <string>

#include "cli/trace_report.h"
#include "core/json.h"

namespace comm_probe::cli {

std::string time_text(std::int64_t ns);  // "1.25 ms"
// The share of communication that computation hides; "-" where there is none.
std::string hidden_text(const torch::Breakdown& one);
void add_to(torch::Breakdown& sum, const torch::Breakdown& one);
core::Json breakdown_json(const torch::Breakdown& one);
// The longest first.
torch::Intervals longest_gaps(const torch::RankBreakdown& rank, std::size_t most);

// The steps, mean over the ranks; the process groups and kinds of collectives.
void add_steps(const TraceReport& report, core::Document& document);
void add_groups(const TraceReport& report, core::Document& document);

}  // namespace comm_probe::cli
