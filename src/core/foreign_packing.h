// Files that are packed, but not with what Input unpacks: zip, xz, bzip2, 7-Zip, lz4. What is in
// them is not read; describe_content() says how to unpack them.
#pragma once

#include <string_view>

namespace comm_probe::core {

bool is_packed_otherwise(std::string_view head);

}  // namespace comm_probe::core
