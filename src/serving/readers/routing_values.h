// Rows of numbers of a fixed width out of an Input that comes in blocks: a row that lies across two
// blocks is put together.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/input.h"

namespace comm_probe::serving {

class RowStream {
 public:
  // Begins behind `skipped` bytes, which stand in front of the rows.
  RowStream(core::Input& input, std::uint64_t skipped, std::size_t row_bytes)
      : input_(input), to_skip_(skipped), row_bytes_(row_bytes), row_(row_bytes) {}

  // The next row, or null at the end or at an error; valid until the next call. Aligned for any
  // number.
  const std::byte* next();
  // Of the row that was handed out last.
  std::uint64_t offset() const { return offset_ - row_bytes_; }
  const std::optional<core::Error>& error() const { return error_; }
  // Bytes of a row that the end of the input cut off.
  std::size_t left_over() const { return have_; }
  std::uint64_t end_offset() const { return offset_ + have_; }

 private:
  bool refill();

  core::Input& input_;
  std::uint64_t to_skip_;
  std::size_t row_bytes_;
  std::vector<std::byte> row_;
  std::string_view block_ = {};
  std::size_t have_ = 0;
  std::uint64_t offset_ = 0;  // where the next row begins
  bool begun_ = false;
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::serving
