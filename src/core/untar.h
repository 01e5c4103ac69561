// The files of a tar one after the other, as they stream in: nothing is kept, whatever its size.
// Format as in archive.h; links and devices are passed over.
//
//   walk_tar(input, visitor): visitor.wants("logs/rank0.log", 1234) -> true, then take(bytes) until
//   1234 are given, then end()
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/input.h"
#include "core/result.h"

namespace comm_probe::core {

class TarVisitor {
 public:
  virtual ~TarVisitor() = default;
  // A regular file; false passes over its bytes.
  virtual bool wants(const std::string& path, std::uint64_t size) = 0;
  virtual void take(std::string_view bytes) = 0;
  virtual void end() = 0;
};

// The number of files. Fails, with the offset, on a header that is none, on a cut file and on more
// than a million entries, after what stands before was given.
Result<std::size_t> walk_tar(Input& input, TarVisitor& visitor);

}  // namespace comm_probe::core
