// How the elements of a call are cut: into parts for ranks, and into chunks that follow each other.
#pragma once

#include <algorithm>
#include <cstddef>

namespace comm_probe::measure {

// Elements [first, first + count) of a buffer.
struct Piece {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Part `index` of `parts` nearly equal parts.
inline Piece part_of(Piece whole, int index, int parts) {
  const auto n = static_cast<std::size_t>(parts);
  const auto i = static_cast<std::size_t>(index);
  const std::size_t share = whole.count / n, rest = whole.count % n;
  const std::size_t before = share * i + std::min(i, rest);
  return {whole.first + before, share + (i < rest ? 1 : 0)};
}

// A message cut into chunks of at most `chunk` elements. No element: no chunk.
class Chunks {
 public:
  Chunks(Piece whole, std::size_t chunk)
      : whole_(whole),
        chunk_(chunk),
        size_(whole.count <= chunk ? (whole.count > 0 ? 1 : 0)
                                   : (whole.count + chunk - 1) / chunk) {}
  std::size_t size() const { return size_; }
  // Elements of the largest one.
  std::size_t largest() const { return std::min(chunk_, whole_.count); }
  Piece operator[](std::size_t index) const {
    const std::size_t skipped = index * chunk_;
    return {whole_.first + skipped, std::min(chunk_, whole_.count - skipped)};
  }

 private:
  Piece whole_;
  std::size_t chunk_;
  std::size_t size_;
};

}  // namespace comm_probe::measure
