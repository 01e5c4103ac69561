// `log --topo FILE | --machine NAME`: the plan of the job that the log describes, beside the log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/nccl_job.h"
#include "core/document.h"
#include "diagnose/log_plan.h"

namespace comm_probe::cli {

struct LogPlanRequest {
  std::string topo = {};
  std::string machine = {};
  int nodes = 0;  // 0: as the log says
  std::vector<std::string> env = {};

  bool is_asked() const { return !topo.empty() || !machine.empty(); }
};
void add_log_plan_options(CLI::App& app, LogPlanRequest& request);

// The job of a communicator of the log, on the topology of the request.
struct PlannedLog {
  NcclJob job = {};
  nccl::JobPlan plan;
  nccl::Tuning tuning;
};
core::Result<PlannedLog> plan_of_log(const nccl::DebugLog& log, const nccl::LogComm& comm,
                                     const LogPlanRequest& request);

// Adds rows, JSON, finding and caveats to the document. Fails where the topology cannot be read, or
// NCCL's own initialisation would fail.
std::optional<core::Error> add_log_plan(core::Document& document, const nccl::DebugLog& log,
                                        const LogPlanRequest& request);

}  // namespace comm_probe::cli
