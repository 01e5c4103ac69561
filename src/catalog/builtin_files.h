// The files of catalog/ as the build put them into the binary (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace comm_probe::catalog {

struct BuiltinFile {
  std::string_view name;  // "gpus.toml"
  std::string_view text;
};
std::span<const BuiltinFile> builtin_files();

}  // namespace comm_probe::catalog
