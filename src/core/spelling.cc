#include "core/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace comm_probe::core {
namespace {

// Letters put in, left out, replaced, and neighbours exchanged ("hots") count one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), row[j - 1] + 1, above[j] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// "foo" is not a mistyped "topo": a short word has one mistake, a long one a third of its letters.
std::size_t most_mistakes(std::size_t letters) {
  constexpr std::size_t kShort = 4;
  return letters <= kShort ? 1 : std::max<std::size_t>(2, letters / 3);
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongestWord =
      64;  // the distance is quadratic and the word comes from outside
  if (word.size() > kLongestWord) return "";
  std::string_view best;
  std::size_t best_distance = most_mistakes(word.size()) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return std::string(best);
}

std::string unknown_word(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known) {
  const std::string near = nearest_word(word, known);
  if (!near.empty()) return fmt::format("unknown {} '{}'; did you mean '{}'?", what, word, near);
  return fmt::format("unknown {} '{}'; known: {}", what, word, fmt::join(known, ", "));
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace comm_probe::core
