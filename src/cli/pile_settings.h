// Settings that send NCCL over TCP (NCCL_IB_DISABLE, NCCL_NET), as texts beside a log state them: a
// listing of the environment, a job script, the environment of a recorded machine. A log without
// NCCL_DEBUG_SUBSYS=ENV may not print them.
//
//   "export NCCL_IB_DISABLE=1" -> {NCCL_IB_DISABLE, 1}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/host.h"
#include "core/input.h"
#include "diagnose/job.h"

namespace comm_probe::cli {

// Nothing where the line states none; a line that is commented out states none.
std::optional<diagnose::StatedSetting> setting_of_line(const core::Line& line,
                                                       const std::string& file);
std::vector<diagnose::StatedSetting> settings_of(const core::Host& host, const std::string& file);

}  // namespace comm_probe::cli
