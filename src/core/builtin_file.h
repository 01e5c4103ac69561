// A file that the build put into the binary as text (comm_probe_embed of cmake/modules.cmake).
#pragma once

#include <string_view>

namespace comm_probe::core {

struct BuiltinFile {
  std::string_view name;  // "gpus.toml"
  std::string_view text;
};

}  // namespace comm_probe::core
