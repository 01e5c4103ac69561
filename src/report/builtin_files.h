// The template of the page as the build put it into the binary (cmake/embed.cmake).
#pragma once

#include <span>

#include "core/builtin_file.h"

namespace comm_probe::report {

using core::BuiltinFile;
std::span<const BuiltinFile> builtin_files();

}  // namespace comm_probe::report
