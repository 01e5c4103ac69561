#include "topology/archive_walk.h"

namespace comm_probe::topology {
namespace {

constexpr int kDeepest = 256;  // deeper ones are left out

void walk(const core::Archive& archive, const std::string& folder, int depth, ArchivePaths& paths) {
  if (depth > kDeepest) return;
  for (const std::string& name : archive.list(folder)) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    if (archive.link_target(path))
      paths.links.push_back(path);
    else if (archive.read(path))
      paths.files.push_back(path);
    else if (archive.list(path).empty())
      paths.folders.push_back(path);
    else
      walk(archive, path, depth + 1, paths);
  }
}

}  // namespace

ArchivePaths paths_below(const core::Archive& archive, const std::string& folder) {
  ArchivePaths paths;
  walk(archive, folder, 0, paths);
  return paths;
}

}  // namespace comm_probe::topology
