// `bench --backend nccl`: what NCCL itself wrote down that it chose for each size, beside what our
// plan of the same topology chooses, and the time that it predicts.
//
// Real: the lines of NCCL's TUNING log in the pass that checks results. Plan: nccl::plan_job and
// nccl::choose on the topology that NCCL dumped in the same run, with the settings its log names.
#pragma once

#include "cli/log_plan_view.h"
#include "measure/measure.h"

namespace comm_probe::cli {

struct SizeChoice {
  core::Bytes bytes = {};
  std::string real = {};  // "ring/ll, 2 channels"; empty: NCCL wrote no line
  std::string plan = {};  // empty: there is no plan for it
  bool is_equal() const { return real == plan; }
};

struct BenchChoices {
  nccl::DebugLog log = {};
  std::optional<LogPlanRequest> request = {};  // where NCCL dumped its topology
  std::vector<SizeChoice> sizes = {};          // where NCCL chooses
};

// Reads what the run has captured; sets Row::method, and Row::predicted where times mean something.
// Empty where there is nothing to read.
BenchChoices read_choices(measure::Run& run);
// The table, its JSON (`result.choices`), the comparison of searches, channels, rings, trees and
// tuning table, and a finding where anything differs.
void add_choices(core::Document& document, const BenchChoices& choices);

}  // namespace comm_probe::cli
