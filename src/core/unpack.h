// Unpacking while reading: gzip (several members too) and zstd (several frames too), recognised by
// their first bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace comm_probe::core {

// A stream of blocks; an empty block is the end. A block is valid until the next call.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Result<std::string_view> next() = 0;
};

enum class Packing { kNone, kGzip, kZstd };
Packing detect_packing(std::string_view first_bytes);

// For kNone the source itself. The unpacked stream fails, with the offset in the packed file, where
// the data is damaged or ends in the middle; every byte before that is delivered first.
std::unique_ptr<ByteSource> unpack(Packing packing, std::unique_ptr<ByteSource> packed,
                                   const std::string& name);

}  // namespace comm_probe::core
