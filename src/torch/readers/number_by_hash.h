// A map from 64-bit hashes to numbers with the last ones at hand: neighbouring calls are alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace comm_probe::torch {

class NumberByHash {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // kNone: the key was never added.
  std::uint32_t find(std::uint64_t key) {
    Recent& recent = recent_[key % kRecent];
    if (recent.number != kNone && recent.key == key) return recent.number;
    const auto place = numbers_.find(key);
    if (place == numbers_.end()) return kNone;
    recent = {key, place->second};
    return place->second;
  }
  void add(std::uint64_t key, std::uint32_t number) { numbers_.insert_or_assign(key, number); }
  void clear() { *this = {}; }

 private:
  static constexpr std::size_t kRecent = 256;
  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t number = kNone;
  };
  std::array<Recent, kRecent> recent_ = {};
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_ = {};
};

}  // namespace comm_probe::torch
