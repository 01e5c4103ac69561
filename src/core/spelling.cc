#include "core/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace comm_probe::core {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongestWord =
      64;  // the distance is quadratic and the word comes from outside
  if (word.size() > kLongestWord) return "";
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
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

}  // namespace comm_probe::core
