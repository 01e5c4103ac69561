#include "torch/readers/trace_text.h"

#include <algorithm>
#include <cstring>

namespace comm_probe::torch {

bool TraceText::more() {
  if (error_) return false;
  auto block = input_.next();
  if (!block) {
    error_ = block.error();
    return false;
  }
  if (block->empty()) return false;
  const std::size_t kept = left();
  if (kept + block->size() > capacity_) reserve(kept + block->size());
  if (kept > 0) std::memmove(buffer_.get(), at, kept);
  std::memcpy(buffer_.get() + kept, block->data(), block->size());
  at = buffer_.get();
  end = at + kept + block->size();
  std::memset(buffer_.get() + kept + block->size(), 0, kPadding);
  read_ += block->size();
  return true;
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
