#include "core/pack.h"

#include <fmt/format.h>
#include <zstd.h>

namespace comm_probe::core {

Result<std::string> zstd_packed(std::string_view bytes) {
  constexpr int kLevel = 3;
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0U)
    return input_error(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  packed.resize(size);
  return packed;
}

}  // namespace comm_probe::core
