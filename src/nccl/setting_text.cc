#include "nccl/setting_text.h"

#include <cerrno>
#include <cstdlib>

namespace comm_probe::nccl {

std::optional<std::int64_t> setting_number(const std::string& text) {
  if (text.empty()) return std::nullopt;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), nullptr, 0);
  if (errno != 0) return std::nullopt;
  return value;
}

std::string setting_text(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::int64_t setting_number(const Environment& environment, const std::string& name,
                            std::int64_t fallback) {
  return setting_number(setting_text(environment, name)).value_or(fallback);
}

}  // namespace comm_probe::nccl
