// The control groups of this process that bound its CPU time: version 2, and the cpu controller of
// version 1; and the folders from one up to the root of its hierarchy.
//
//   /proc/self/cgroup "0::/a/b" -> /sys/fs/cgroup/a/b, /sys/fs/cgroup/a, /sys/fs/cgroup
#pragma once

#include <string>
#include <vector>

#include "core/host.h"

namespace comm_probe::topology {

struct CgroupPlace {
  std::string mount = {};
  std::string path = {};
  bool is_v2 = false;

  // The group's own folder first, at most 65.
  std::vector<std::string> folders_up() const;
};
std::vector<CgroupPlace> cgroups_of(const core::Host& host);

}  // namespace comm_probe::topology
