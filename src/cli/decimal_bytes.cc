#include "cli/decimal_bytes.h"

#include "core/units.h"

namespace comm_probe::cli {

std::string decimal_bytes(core::Bytes bytes) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}};
  for (const auto& [size, unit] : kUnits)
    if (bytes.count() >= size) return core::format_number(bytes.count() / size) + " " + unit;
  return core::format_number(bytes.count()) + " B";
}

}  // namespace comm_probe::cli
