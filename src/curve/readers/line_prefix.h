// What CI systems, journals, parallel shells and mail put before a line: where does the line itself
// begin?
//
//   "2024-05-14T09:12:00.1234567Z  65536  5000"   -> "65536  5000"
//   "May 14 09:12:09 node07 bench[1234]: 65536"   -> "65536"
//   "  12\t 65536  5000", "12 | 65536", ">> 65536" -> "65536 ..."
//   "node07:  65536  5000", "launcher-0 | 65536"  -> "65536 ...", said by "node07" / "launcher-0"
#pragma once

#include <optional>
#include <string_view>

namespace comm_probe::curve {

struct PrefixedLine {
  std::string_view text = {};
  std::string_view speaker = {};  // a host or a container; empty where the prefix names none
  bool has_bar = false;           // "name | text"
};
// Without its first prefix; nothing where it has none.
std::optional<PrefixedLine> without_prefix(std::string_view line);

// "node07" and "launcher-0" are hosts, and whatever a bar divides; "Device: 0" is a field.
bool names_a_host(const PrefixedLine& line);

}  // namespace comm_probe::curve
