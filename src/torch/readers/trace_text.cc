#include "torch/readers/trace_text.h"

#include <algorithm>
#include <cstring>

namespace comm_probe::torch {

bool TraceText::more() {
  if (block_.empty() && !next_block()) return false;
  const std::string_view piece = block_.substr(0, piece_ == 0 ? block_.size() : piece_);
  block_.remove_prefix(piece.size());
  const std::size_t kept = left();
  if (kept + piece.size() > capacity_) reserve(kept + piece.size());
  if (kept > 0) std::memmove(buffer_.get(), at, kept);
  std::memcpy(buffer_.get() + kept, piece.data(), piece.size());
  at = buffer_.get();
  end = at + kept + piece.size();
  std::memset(buffer_.get() + kept + piece.size(), 0, kPadding);
  read_ += piece.size();
  return true;
}

bool TraceText::next_block() {
  if (error_) return false;
  auto block = input_.next();
  if (!block) {
    error_ = block.error();
    return false;
  }
  block_ = *block;
  return !block_.empty();
}

void TraceText::reserve(std::size_t size) {
  const std::size_t kept = left();
  capacity_ = std::max(size + size / 8, 2 * capacity_);
  auto larger = std::make_unique_for_overwrite<char[]>(capacity_ + kPadding);
  if (kept > 0) std::memcpy(larger.get(), at, kept);
  buffer_ = std::move(larger);
  at = buffer_.get();
  end = at + kept;
}

}  // namespace comm_probe::torch
