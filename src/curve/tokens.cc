#include "curve/tokens.h"

#include <cmath>

#include "core/number.h"

namespace comm_probe::curve {
namespace {

// Blank, tab, and every other control character.
bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }

// The value of digits with at most one point. Exact: mantissa below 2^53 over a power of ten of at
// most 22 is one correctly rounded division (IEEE 754).
std::optional<double> parse_plain(std::string_view digits) {
  static constexpr std::array<double, 20> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                     1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                     1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
  const char* at = digits.data();
  const char* const end = at + digits.size();
  std::uint64_t mantissa = 0;
  for (; at != end && is_digit(*at); ++at)
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at - '0');
  if (at == end) return static_cast<double>(mantissa);
  if (*at != '.') return std::nullopt;
  const char* const point = ++at;
  for (; at != end && is_digit(*at); ++at)
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at - '0');
  if (at != end) return std::nullopt;
  return static_cast<double>(mantissa) / kPowers[static_cast<std::size_t>(end - point)];
}

}  // namespace

void split(std::string_view text, Tokens& tokens) {
  tokens.size = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (tokens.size < Tokens::kMost) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) return;
    const char* const begin = at;
    while (at != end && !is_blank(*at)) ++at;
    tokens.at[tokens.size++] = {begin, static_cast<std::size_t>(at - begin)};
  }
}

std::optional<double> parse_decimal(std::string_view word) {
  if (word.empty() || (!is_digit(word.front()) && word.front() != '-' && word.front() != '.'))
    return std::nullopt;
  if (word.size() <= 15 && is_digit(word.front()))
    if (const auto plain = parse_plain(word)) return plain;
  const auto value = core::whole_number<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::uint64_t> parse_whole(std::string_view word) {
  if (word.empty() || word.size() > 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : word) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > (std::uint64_t{1} << 53)) return std::nullopt;
  return value;
}

std::optional<int> parse_small(std::string_view word) { return core::whole_number<int>(word); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace comm_probe::curve
