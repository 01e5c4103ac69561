// Numbers and words out of a line, without regular expressions.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace comm_probe::torch {

inline std::optional<std::int64_t> leading_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}
// What stands behind `mark`; nothing where it does not occur.
inline std::optional<std::string_view> behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}
inline std::optional<std::int64_t> number_behind(std::string_view text, std::string_view mark) {
  const auto rest = behind(text, mark);
  return rest ? leading_number(*rest) : std::nullopt;
}
// Up to one of `ends`.
inline std::string_view word_behind(std::string_view text, std::string_view mark,
                                    std::string_view ends) {
  const auto rest = behind(text, mark);
  return rest ? rest->substr(0, rest->find_first_of(ends)) : std::string_view();
}
// "[1, 2, 3]" -> 1, 2, 3; stops at ']'.
inline std::vector<int> numbers_in_list(std::string_view text) {
  std::vector<int> numbers;
  text = text.substr(0, text.find(']'));
  while (!text.empty() && numbers.size() < 65536) {
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    text.remove_prefix(digit);
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc()) numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

}  // namespace comm_probe::torch
