#include "measure/free_memory.h"

#include <cstdlib>
#include <string>

#include "core/host.h"

namespace comm_probe::measure {

std::optional<core::Bytes> free_memory() {
  const auto text = core::Host::real().read("/proc/meminfo");
  if (!text) return std::nullopt;
  constexpr std::string_view kName = "MemAvailable:";
  const std::size_t at = text->find(kName);
  if (at == std::string::npos) return std::nullopt;
  return core::Bytes::of(std::strtod(text->c_str() + at + kName.size(), nullptr) * 1024);
}

}  // namespace comm_probe::measure
