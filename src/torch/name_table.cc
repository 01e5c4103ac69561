#include "torch/name_table.h"

#include <algorithm>
#include <cstring>

#include "torch/readers/hash.h"

namespace comm_probe::torch {
namespace {

constexpr std::uint32_t kFree = 0xffffffff;
constexpr std::size_t kBlock = 32 << 10;

}  // namespace

NameTable::NameTable() : slots_(256, kFree) {}

NameId NameTable::number(std::string_view text) {
  const std::uint64_t hash = hash_text(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != kFree) {
    const std::uint32_t known = slots_[slot];
    if (hashes_[known] == hash && texts_[known] == text) return known;
    slot = (slot + 1) & mask;
  }
  const auto number = static_cast<NameId>(texts_.size());
  texts_.push_back(keep(text));
  hashes_.push_back(hash);
  slots_[slot] = number;
  if (texts_.size() * 2 > slots_.size()) grow();
  return number;
}

std::string_view NameTable::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > room_) {
    room_ = std::max(kBlock, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
    next_ = blocks_.back().get();
  }
  char* kept = next_;
  std::memcpy(kept, text.data(), text.size());
  next_ += text.size();
  room_ -= text.size();
  return {kept, text.size()};
}

void NameTable::grow() {
  slots_.assign(slots_.size() * 2, kFree);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < texts_.size(); ++i) {
    std::size_t slot = hashes_[i] & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = i;
  }
}

}  // namespace comm_probe::torch
