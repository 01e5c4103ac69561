// One collective call of one rank, and how its data is cut into pieces and chunks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "measure/element.h"
#include "measure/engines/local/comm.h"
#include "model/collective.h"

namespace comm_probe::measure::local {

// `count` is in elements and means what nccl-tests prints: the whole message of all_reduce,
// broadcast, reduce and send_recv; what each rank contributes to all_gather, gets from
// reduce_scatter, sends to each rank in all_to_all. send may equal recv (in place); for all_gather
// in place send is recv + rank * count, for reduce_scatter recv is send + rank * count.
struct Call {
  model::Op op = model::Op::kAllReduce;
  Element element = Element::kF32;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  std::size_t count = 0;
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;

  std::size_t bytes(std::size_t elements) const { return elements * element_bytes(element); }
  const std::byte* sent(std::size_t first) const { return send + bytes(first); }
  std::byte* received(std::size_t first) const { return recv + bytes(first); }
};

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
struct Chunks {
  Piece whole = {};
  std::size_t chunk = 1;
  std::size_t size() const { return (whole.count + chunk - 1) / chunk; }
  Piece operator[](std::size_t index) const {
    const std::size_t skipped = index * chunk;
    return {whole.first + skipped, std::min(chunk, whole.count - skipped)};
  }
};

// dst[i] = a[i] op b[i]; dst2 (may be null) gets the same.
struct Operands {
  std::byte* dst = nullptr;
  std::byte* dst2 = nullptr;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
};
inline void reduce(Comm& comm, const Call& call, const Operands& o, std::size_t count) {
  comm.loops().reduction(call.element, call.reduction)(o.dst, o.dst2, o.a, o.b, count);
}
// Divides a finished sum for avg.
inline void finish(Comm& comm, const Call& call, std::byte* data, std::size_t count) {
  if (call.reduction == Reduction::kAvg && data != nullptr)
    comm.loops().scale[static_cast<int>(call.element)](data, count, comm.ranks());
}
// The last reduction of an element.
inline void reduce_last(Comm& comm, const Call& call, const Operands& o, std::size_t count) {
  reduce(comm, call, o, count);
  finish(comm, call, o.dst, count);
  finish(comm, call, o.dst2, count);
}

// One message: copied into the stream, and out of it.
inline void post_copy(Comm& comm, Outbox& to, const std::byte* data, std::size_t bytes) {
  comm.loops().copy(to.reserve(bytes), data, bytes);
  to.post();
}
inline void take_copy(Comm& comm, Inbox& from, std::byte* data, std::size_t bytes) {
  comm.loops().copy(data, from.wait(bytes), bytes);
  from.release();
}

}  // namespace comm_probe::measure::local
