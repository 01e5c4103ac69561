// A text that is one number from its first to its last character; nothing for anything else, also
// for an empty text, a sign '+', blanks, and what the type cannot hold.
//
//   whole_number<int>("17") == 17; whole_number<int>("17 ") and whole_number<int>("") are nothing
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

namespace comm_probe::core {

template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  static_assert(std::is_arithmetic_v<Number>);
  Number value = {};
  const char* const last = text.data() + text.size();
  std::from_chars_result read = {};
  if constexpr (std::is_floating_point_v<Number>)
    read = std::from_chars(text.data(), last, value);
  else
    read = std::from_chars(text.data(), last, value, base);
  if (read.ec != std::errc() || read.ptr != last) return std::nullopt;
  return value;
}

}  // namespace comm_probe::core
