#include "topology/cgroup.h"

#include <sstream>

namespace comm_probe::topology {

// Of /proc/self/cgroup the lines of version 2 ("0::/a/b") and of the cpu controller of version 1.
std::vector<CgroupPlace> cgroups_of(const core::Host& host) {
  std::vector<CgroupPlace> places;
  std::istringstream lines(host.read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") places.push_back({"/sys/fs/cgroup", path, true});
    if (controllers.find(",cpu,") != std::string::npos)
      places.push_back({"/sys/fs/cgroup/cpu", path, false});
  }
  return places;
}

std::vector<std::string> CgroupPlace::folders_up() const {
  std::vector<std::string> folders;
  std::string rest = path;
  while (true) {
    folders.push_back(mount + (rest == "/" ? "" : rest));
    if (rest.size() <= 1 || folders.size() > 64) return folders;
    const std::size_t slash = rest.rfind('/');
    rest = slash == 0 || slash == std::string::npos ? "/" : rest.substr(0, slash);
  }
}

}  // namespace comm_probe::topology
