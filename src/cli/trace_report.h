// Everything that `trace` found, before anybody decides how it looks. Each section of the report is
// a file of its own that adds its part of result, findings, caveats and body to the document.
#pragma once

#include <vector>

#include "cli/trace_load.h"
#include "torch/breakdown.h"

namespace comm_probe::cli {

struct TraceReport {
  TraceInputs inputs = {};
  std::vector<torch::RankBreakdown> ranks = {};  // of inputs.traces
};
TraceReport trace_report(TraceInputs inputs);

// One sentence about all ranks together.
std::string trace_verdict(const TraceReport& report);
// result.ranks[], the tables of ranks, steps and groups; streams and gaps among the details.
void add_ranks(const TraceReport& report, core::Document& document);
// One line per rank, and per step of a rank.
core::Result<bool> write_csv(const TraceReport& report, const std::string& file);

}  // namespace comm_probe::cli
