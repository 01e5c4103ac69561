// How much memory can still be taken on this machine without swapping (MemAvailable of
// /proc/meminfo). Engines ask before they touch their buffers: a process that the kernel kills for
// memory says nothing.
#pragma once

#include <optional>

#include "core/quantity.h"

namespace comm_probe::measure {

// Nothing where the kernel does not say.
std::optional<core::Bytes> free_memory();

}  // namespace comm_probe::measure
