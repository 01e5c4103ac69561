// The files of catalog/ as the build put them into the binary (cmake/embed.cmake).
#pragma once

#include <span>

#include "core/builtin_file.h"

namespace comm_probe::catalog {

using core::BuiltinFile;
std::span<const BuiltinFile> builtin_files();

}  // namespace comm_probe::catalog
