// Hashes of contents, the same on every host: what two ranks passed is compared by them. 64 bits,
// not made against people who look for collisions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace comm_probe::torch {

// The finalizer of MurmurHash3 (public domain): every bit of the input moves every bit.
constexpr std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  value ^= value >> 33;
  return value;
}
constexpr std::uint64_t combine(std::uint64_t seed, std::uint64_t value) {
  return mix(seed * 0x9e3779b97f4a7c15ULL + value + 1);
}
inline std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = text.size() * 0x9e3779b97f4a7c15ULL;
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
    hash ^= hash >> 29;
    text.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  return mix(hash ^ rest);
}

}  // namespace comm_probe::torch
