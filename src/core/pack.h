// Packs bytes with zstd (level 3), as unpack.h reads them again.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace comm_probe::core {

Result<std::string> zstd_packed(std::string_view bytes);

}  // namespace comm_probe::core
