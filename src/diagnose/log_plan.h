// What a job's log says was decided, beside what NCCL decides by our model for a topology, a number
// of nodes and the settings of the log: searches, channels, rings, trees, tuning table, thread
// thresholds, and the choice of every call that was made.
//
//   rank 0 of 8 one-GPU nodes (data/h200/logs/tuning/n8.log): 2 searches, 4 channel counts, 2
//   rings, 2 trees, 105 cells and 4 choices are equal
#pragma once

#include "diagnose/diagnose.h"
#include "nccl/debug_log.h"
#include "nccl/nccl.h"

namespace comm_probe::diagnose {

struct LogPlanRow {
  std::string what = {};  // "search ring", "tuning table"
  std::string log = {};   // what the log says
  std::string plan = {};  // where it differs: what the plan says
  int compared = 0;       // values
  int equal = 0;
  nccl::LogPlace at = {};  // of the first value that differs, else of the first
  bool is_equal() const { return compared == equal; }
};

struct LogPlan {
  std::vector<LogPlanRow> rows = {};
  std::string reason = {};  // of the differences, as far as the inputs show one
  bool is_equal() const;
};

// The communicator that says most about its decisions; nothing where none says anything.
const nccl::LogComm* comm_to_plan(const nccl::DebugLog& log);
// The settings of the log that were set by the environment or by a plugin.
nccl::Environment environment_of(const nccl::DebugLog& log);

LogPlan compare_with_plan(const nccl::LogComm& comm, const nccl::JobPlan& plan,
                          const nccl::Tuning& tuning);
// One finding where something differs.
std::vector<core::Finding> judge_log_plan(const nccl::DebugLog& log, const LogPlan& compared);

}  // namespace comm_probe::diagnose
