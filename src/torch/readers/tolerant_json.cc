#include "torch/readers/tolerant_json.h"

namespace comm_probe::torch {

Scan skip_container(JsonCursor& cursor) {
  std::uint64_t is_list = 0;  // one bit a level, the innermost lowest
  std::size_t depth = 0;
  bool is_checked = true;
  for (;;) {
    cursor.at = scanning::find_structure(cursor.at, cursor.end);
    if (cursor.at >= cursor.end) return Scan::kMore;
    const char c = *cursor.at;
    if (c == '"') {
      JsonValue ignored;
      if (const Scan scan = scan_string(cursor, ignored); scan != Scan::kOk) return scan;
      continue;
    }
    ++cursor.at;
    if (c == '{' || c == '[') {
      if (++depth > 64) is_checked = false;
      is_list = is_list << 1 | (c == '[' ? 1U : 0U);
      continue;
    }
    if (is_checked && (is_list & 1U) != (c == ']' ? 1U : 0U)) return Scan::kBroken;
    is_list >>= 1;
    if (--depth == 0) return Scan::kOk;
  }
}

}  // namespace comm_probe::torch
