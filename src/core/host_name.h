// The name of a machine, as everything that names ranks by their host says it: what the kernel has
// (/proc/sys/kernel/hostname), of a recorded machine what was recorded.
#pragma once

#include <optional>
#include <string>

#include "core/host.h"

namespace comm_probe::core {

// Nothing where it is not known.
std::optional<std::string> known_host_name(const Host& host);
// "localhost" then.
std::string host_name(const Host& host);

}  // namespace comm_probe::core
