// "did you mean": the nearest known word; and words without their case.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::core {

// The known word with the smallest edit distance (exchanged neighbours count one), or empty where
// none is near: one mistake up to four letters, two up to eight, a third of the letters above.
// "hots" is near "host", "foo" is not near "topo".
std::string nearest_word(std::string_view word, std::span<const std::string_view> known);
// ASCII letters only.
std::string upper(std::string_view text);
// "unknown operation 'all_redcue'; did you mean 'all_reduce'?" or "...; known: a, b, c"
std::string unknown_word(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known);

}  // namespace comm_probe::core
