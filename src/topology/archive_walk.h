// Everything below a folder of an archive, links not followed.
#pragma once

#include <string>
#include <vector>

#include "core/archive.h"

namespace comm_probe::topology {

struct ArchivePaths {
  std::vector<std::string> files = {};
  std::vector<std::string> links = {};
  std::vector<std::string> folders = {};  // that hold nothing
};
// "" is the root.
ArchivePaths paths_below(const core::Archive& archive, const std::string& folder);

}  // namespace comm_probe::topology
