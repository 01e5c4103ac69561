// SipHash-2-4 (Aumasson and Bernstein, 2012): 64 bits of a text under a key, so that nobody without
// the key can look for the text that has a given hash, or check a guess.
//
//   key 00 01 .. 0f, text 00 01 .. 0e -> a129ca6149be45e5 (the paper's own example)
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace comm_probe::core {

using HashKey = std::array<std::uint64_t, 2>;

std::uint64_t keyed_hash(const HashKey& key, std::string_view text);
// A key of any text, also an empty one.
HashKey key_of(std::string_view word);

}  // namespace comm_probe::core
