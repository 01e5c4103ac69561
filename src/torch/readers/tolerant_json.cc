#include "torch/readers/tolerant_json.h"

#include <charconv>
#include <optional>

namespace comm_probe::torch {
namespace {

void append_utf8(std::uint32_t code, std::string& out) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += {static_cast<char>(0xc0 | code >> 6), tail(0)};
  } else if (code < 0x10000) {
    out += {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  } else {
    out += {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
  }
}

// Of "u00e9" at `at`.
std::optional<std::uint32_t> code_at(std::string_view text, std::size_t at) {
  if (at + 5 > text.size() || text[at] != 'u') return std::nullopt;
  std::uint32_t code = 0;
  const char* const end = text.data() + at + 5;
  const auto [behind, error] = std::from_chars(text.data() + at + 1, end, code, 16);
  return error == std::errc() && behind == end ? std::optional(code) : std::nullopt;
}

// `at` stands on the 'u' of an escape with four digits; returns how many characters it takes.
std::size_t append_escape(std::string_view text, std::size_t at, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  std::uint32_t code = *code_at(text, at);
  if (code < 0xd800 || code > 0xdfff) {
    append_utf8(code, out);
    return 5;
  }
  const bool is_pair = code < 0xdc00 && at + 5 < text.size() && text[at + 5] == '\\';
  const auto low = is_pair ? code_at(text, at + 6) : std::nullopt;
  if (!low || *low < 0xdc00 || *low > 0xdfff) {
    append_utf8(kReplacement, out);
    return 5;
  }
  append_utf8(0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00), out);
  return 11;
}

}  // namespace

std::string unescaped(std::string_view text) {
  constexpr std::string_view kLetters = "nrtbf";
  constexpr std::string_view kMeant = "\n\r\t\b\f";
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i++];
      continue;
    }
    ++i;
    const std::size_t letter = kLetters.find(text[i]);
    if (code_at(text, i)) {
      i += append_escape(text, i, out);
    } else {
      out += letter == std::string_view::npos ? text[i] : kMeant[letter];
      ++i;
    }
  }
  return out;
}

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
