#include "serving/readers/routing_values.h"

#include <algorithm>

namespace comm_probe::serving {

bool RowStream::refill() {
  auto block = input_.next();
  if (!block) {
    error_ = block.error();
    return false;
  }
  block_ = *block;
  return !block_.empty();
}

const std::byte* RowStream::next() {
  if (!begun_) offset_ = to_skip_;
  begun_ = true;
  while (have_ < row_bytes_) {
    if (block_.empty() && !refill()) return nullptr;
    const std::size_t skipped = std::min<std::uint64_t>(to_skip_, block_.size());
    block_.remove_prefix(skipped);
    to_skip_ -= skipped;
    const std::size_t taken = std::min(row_bytes_ - have_, block_.size());
    std::memcpy(row_.data() + have_, block_.data(), taken);
    block_.remove_prefix(taken);
    have_ += taken;
  }
  have_ = 0;
  offset_ += row_bytes_;
  return row_.data();
}

}  // namespace comm_probe::serving
