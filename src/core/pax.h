// The extended header of a POSIX tar (IEEE Std 1003.1, pax: an entry of type 'x' before a file):
// records "LENGTH KEYWORD=VALUE\n", LENGTH in decimal digits, of the whole record. Python's
// tarfile, bsdtar and `tar --format=posix` write the names in it that are too long for a header or
// not ASCII.
//
//   pax_fields("17 path=logs/a.b\n").path -> "logs/a.b"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace comm_probe::core {

// What of the header that follows is not true; empty where the header says it.
struct PaxFields {
  std::string path = {};
  std::string link_path = {};
  std::optional<std::uint64_t> size = {};
};

// Reads up to the first record that is none; keywords of no interest here are passed over.
PaxFields pax_fields(std::string_view records);

}  // namespace comm_probe::core
