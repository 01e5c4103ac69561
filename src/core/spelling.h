// "did you mean": the nearest known word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::core {

// The known word with the smallest edit distance, or empty where none is within a third of the
// length (at least 2).
std::string nearest_word(std::string_view word, std::span<const std::string_view> known);
// "unknown operation 'all_redcue'; did you mean 'all_reduce'?" or "...; known: a, b, c"
std::string unknown_word(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known);

}  // namespace comm_probe::core
