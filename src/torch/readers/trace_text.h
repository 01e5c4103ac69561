// A text of any length through a window: what is not used up stays in front, the next block comes
// behind it. Pointers into the window hold until the next call of more().
//
//   TraceText text(input);
//   while (text.more()) text.at = text.end;        // memory: one block
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/input.h"

namespace comm_probe::torch {

class TraceText {
 public:
  // So many bytes behind `end` may be read (they hold nothing): scanners look at 16 at a time.
  static constexpr std::size_t kPadding = 64;

  // `piece`: as much as one call of more() adds at most (tests; 0: a whole block).
  explicit TraceText(core::Input& input, std::size_t piece = 0) : input_(input), piece_(piece) {}
  // False: the text ends, or cannot be read on (error()).
  bool more();
  std::size_t left() const { return static_cast<std::size_t>(end - at); }
  // Of `at`, in the unpacked text.
  std::uint64_t offset() const { return read_ - left(); }
  std::uint64_t read() const { return read_; }
  const std::optional<core::Error>& error() const { return error_; }

  const char* at = nullptr;
  const char* end = nullptr;

 private:
  void reserve(std::size_t size);
  bool next_block();

  core::Input& input_;
  std::size_t piece_;
  std::string_view block_ = {};  // of the input, not yet in the window
  std::unique_ptr<char[]> buffer_ = {};
  std::size_t capacity_ = 0;
  std::uint64_t read_ = 0;
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::torch
