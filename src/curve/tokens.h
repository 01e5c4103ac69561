// The words of a line and the numbers in them: which words stand in this line, and which value does
// this word have? Made for tables of hundreds of megabytes: nothing is copied.
//
//   split("  8  2  float", tokens) -> tokens.at = {"8", "2", "float"}
//   parse_decimal("119.1") == 119.1;  parse_decimal("N/A") is nothing
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace comm_probe::curve {

struct Tokens {
  // The longest row known has 13 words, 8 columns of per-iteration statistics, a time stamp and a
  // prefix of a few words.
  static constexpr std::size_t kMost = 48;
  std::array<std::string_view, kMost> at;
  std::size_t size = 0;
};

// Splits at blanks, tabs and other control characters; words behind the 48th are left out.
void split(std::string_view text, Tokens& tokens);

// The value of a whole word, correctly rounded; nothing for anything that is not a finite decimal
// number.
std::optional<double> parse_decimal(std::string_view word);
// Digits only, below 2^53 (which Bytes can hold exactly).
std::optional<std::uint64_t> parse_whole(std::string_view word);
// "-1", "0", "7"
std::optional<int> parse_small(std::string_view word);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
std::string_view trim(std::string_view text);
inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace comm_probe::curve
