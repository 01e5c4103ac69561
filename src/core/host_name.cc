#include "core/host_name.h"

namespace comm_probe::core {

std::optional<std::string> known_host_name(const Host& host) {
  if (auto name = host.read("/proc/sys/kernel/hostname")) return name;
  return host.environment("HOSTNAME");
}

std::string host_name(const Host& host) { return known_host_name(host).value_or("localhost"); }

}  // namespace comm_probe::core
