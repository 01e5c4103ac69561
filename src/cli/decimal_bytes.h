// Bytes in a table whose rows are compared: always decimal (core::format_bytes takes KiB and MiB
// where a number is round in them).
#pragma once

#include <string>

#include "core/quantity.h"

namespace comm_probe::cli {

std::string decimal_bytes(core::Bytes bytes);  // "139.1 MB"

}  // namespace comm_probe::cli
