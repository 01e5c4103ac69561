#include <cstring>

#include "core/input.h"

namespace comm_probe::core {

bool LineReader::refill() {
  if (at_end_) return false;
  Result<std::string_view> block = input_.next();
  if (!block) {
    error_ = block.error();
    at_end_ = true;
    return false;
  }
  block_ = *block;
  at_end_ = block_.empty();
  return !at_end_;
}

void LineReader::deliver(Line& line, std::string_view text, bool ended) {
  line = {text, ++number_, line_offset_, ended, false, carry_cut_};
  if (ended && !text.empty() && text.back() == '\r') {
    line.text.remove_suffix(1);
    line.carriage_return = true;
  }
  if (number_ == 1 && line.text.starts_with("\xef\xbb\xbf")) line.text.remove_prefix(3);
  if (line.text.size() > kLongestLine) {
    line.text = line.text.substr(0, kLongestLine);
    line.cut = true;
  }
}

void LineReader::keep(std::string_view piece) {
  const std::size_t room = kLongestLine > carry_.size() ? kLongestLine - carry_.size() : 0;
  carry_.append(piece.substr(0, room));
  if (piece.size() > room) carry_cut_ = true;
}

bool LineReader::next(Line& line) {
  carry_.clear();
  carry_cut_ = false;
  line_offset_ = offset_;
  bool started = false;
  while (!block_.empty() || refill()) {
    const void* newline = std::memchr(block_.data(), '\n', block_.size());
    if (newline == nullptr) {
      keep(block_);
      offset_ += block_.size();
      block_ = {};
      started = true;
      continue;
    }
    const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - block_.data());
    const std::string_view piece = block_.substr(0, length);
    block_.remove_prefix(length + 1);
    offset_ += length + 1;
    if (!started) {
      deliver(line, piece, true);
    } else {
      keep(piece);
      deliver(line, carry_, true);
    }
    return true;
  }
  if (!started) return false;
  deliver(line, carry_, false);
  return true;
}

}  // namespace comm_probe::core
