// Where `topo` takes a machine from: this machine, or what --from names.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "topology/survey.h"

namespace comm_probe::cli {

// A folder that holds a recorded machine, not files of several kinds.
bool is_recording(const std::string& path);
// Without paths this machine.
core::Result<topology::Survey> load_survey(const std::vector<std::string>& from);

}  // namespace comm_probe::cli
