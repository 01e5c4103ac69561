// `doctor --collect`: this node's artifacts in one file, to be sent or analysed elsewhere.
#pragma once

#include <string>
#include <vector>

#include "cli/shell.h"

namespace comm_probe::cli {

struct CollectRequest {
  std::string output = {};  // empty: comm-probe-HOST.tar.zst, without the host where it is masked
  std::vector<std::string> paths = {};  // files and folders to put in as well
  bool mask = false;
  core::Duration between_counters = core::Duration::from_seconds(2);
};

// Gathers and writes; what was missing stands in the report and in the manifest, and is no error.
int collect(const Shell& shell, const CollectRequest& request);

}  // namespace comm_probe::cli
