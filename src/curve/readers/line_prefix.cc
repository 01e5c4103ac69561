#include "curve/readers/line_prefix.h"

#include <algorithm>

#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestName = 64;

// The text behind a pattern: "d" a digit, "a" a letter, other characters themselves; nothing where
// it does not fit.
std::optional<std::string_view> behind(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return std::nullopt;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool fits = pattern[i] == 'd'   ? is_digit(text[i]) || (i > 0 && text[i] == ' ')
                      : pattern[i] == 'a' ? is_letter(text[i])
                                          : text[i] == pattern[i];
    if (!fits) return std::nullopt;
  }
  return text.substr(pattern.size());
}

std::optional<std::string_view> behind_word(std::string_view text) {
  const std::size_t end = text.find_first_of(" \t");
  return end == std::string_view::npos ? std::nullopt : std::optional(trim(text.substr(end)));
}

// "2024-05-14T09:12:00.1Z ", "2024-05-14 09:12:00,123 "
std::optional<std::string_view> behind_date(std::string_view text) {
  for (const std::string_view pattern : {"dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd", "dd:dd:dd"})
    if (is_digit(text.empty() ? ' ' : text[0]))
      if (const auto rest = behind(text, pattern)) return behind_word(*rest);
  return std::nullopt;
}

// "May 14 09:12:09 node07 bench[1234]: "
std::optional<std::string_view> behind_journal(std::string_view text) {
  const auto rest = behind(text, "aaa dd dd:dd:dd ");
  if (!rest) return std::nullopt;
  const std::size_t colon = rest->substr(0, 2 * kLongestName).find(": ");
  return colon == std::string_view::npos ? std::nullopt : std::optional(rest->substr(colon + 2));
}

// "12\t", "12  ", "12 | " of listings with line numbers.
std::optional<std::string_view> behind_number(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 7 && is_digit(text[digits])) ++digits;
  if (digits == 0) return std::nullopt;
  const std::string_view rest = text.substr(digits);
  if (rest.starts_with(" | ")) return rest.substr(3);
  const bool is_listing = rest.starts_with('\t') || rest.starts_with("  ");
  return is_listing ? std::optional(trim(rest)) : std::nullopt;
}

// "node07: ", "launcher-abc12 | "
std::optional<PrefixedLine> behind_speaker(std::string_view text) {
  std::size_t end = 0;
  const auto is_of_name = [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
  };
  while (end < text.size() && end <= kLongestName && is_of_name(text[end])) ++end;
  if (end == 0 || end > kLongestName || !is_letter(text[0])) return std::nullopt;
  const std::string_view rest = text.substr(end);
  const std::string_view blanks = rest.substr(0, rest.find_first_not_of(' '));
  if (rest.starts_with(": ")) return PrefixedLine{rest.substr(2), text.substr(0, end), false};
  if (!blanks.empty() && rest.substr(blanks.size()).starts_with("| "))
    return PrefixedLine{rest.substr(blanks.size() + 2), text.substr(0, end), true};
  return std::nullopt;
}

}  // namespace

std::optional<PrefixedLine> without_prefix(std::string_view line) {
  const std::string_view text = trim(line);
  for (const auto& rest : {behind_date(text), behind_journal(text), behind_number(text)})
    if (rest && !trim(*rest).empty()) return PrefixedLine{trim(*rest), {}, false};
  if (text.starts_with('>')) {
    const std::string_view rest = trim(text.substr(
        text.find_first_not_of('>') == std::string_view::npos ? text.size()
                                                              : text.find_first_not_of('>')));
    return rest.empty() ? std::nullopt : std::optional(PrefixedLine{rest, {}, false});
  }
  auto said = behind_speaker(text);
  if (said) said->text = trim(said->text);
  return said && !said->text.empty() ? said : std::nullopt;
}

bool names_a_host(const PrefixedLine& line) {
  return !line.speaker.empty() &&
         (line.has_bar || std::any_of(line.speaker.begin(), line.speaker.end(), is_digit));
}

}  // namespace comm_probe::curve
