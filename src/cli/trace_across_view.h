// How `trace` shows what several ranks say together: waiting apart from transfer, collectives
// beside their model, clocks, backends. JSON: result.collectives, waiting, rates, stragglers,
// clock, backends (design/cli.md).
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/trace_across.h"
#include "torch/comm_backends.h"

namespace comm_probe::cli {

struct AcrossView {
  const torch::AcrossRanks& across;
  const diagnose::AcrossJudgement& judged;
  const std::vector<torch::BackendUse>& backends;
};

void add_across_json(const AcrossView& view, core::Json& result);
std::vector<core::Block> across_blocks(const AcrossView& view);
// With --explain: every rate, the longest waits, the clocks.
std::vector<core::Block> across_details(const AcrossView& view);

}  // namespace comm_probe::cli
