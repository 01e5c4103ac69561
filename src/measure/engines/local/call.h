// What the algorithms do with the data of a call: its chunks, reductions and messages.
#pragma once

#include <bit>
#include <cstddef>

#include "measure/call.h"
#include "measure/engines/local/comm.h"
#include "measure/pieces.h"

namespace comm_probe::measure::local {

// Elements in a chunk of `bytes`.
inline std::size_t chunk_elements(std::size_t bytes, const Call& call) {
  return bytes >> std::countr_zero(element_bytes(call.element));
}
// The whole call in the chunks of the boards, or of the streams between pairs.
inline Chunks board_chunks(const Comm& comm, const Call& call) {
  return {{0, call.count}, chunk_elements(comm.chunks().board, call)};
}
inline Chunks pair_chunks(const Comm& comm, const Call& call) {
  return {{0, call.count}, chunk_elements(comm.chunks().pair, call)};
}

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
// A reduction whose result stays here (dst) and goes into a slot (dst2). Streamed, it is made here
// and copied on from the caches.
inline void reduce_and_keep(Comm& comm, const Call& call, const Operands& o, std::size_t count) {
  if (o.dst2 == nullptr || !comm.streams(call.bytes(count))) return reduce(comm, call, o, count);
  reduce(comm, call, {o.dst, nullptr, o.a, o.b}, count);
  comm.loops().copy_streaming(o.dst2, o.dst, call.bytes(count));
}
// The last reduction of an element.
inline void reduce_last(Comm& comm, const Call& call, const Operands& o, std::size_t count) {
  reduce_and_keep(comm, call, o, count);
  finish(comm, call, o.dst, count);
  finish(comm, call, o.dst2, count);
}

// One message: copied into the stream, and out of it.
inline void post_copy(Comm& comm, Outbox& to, const std::byte* data, std::size_t bytes) {
  comm.copy_into_slot(bytes)(to.reserve(bytes), data, bytes);
  to.post();
}
inline void take_copy(Comm& comm, Inbox& from, std::byte* data, std::size_t bytes) {
  comm.loops().copy(data, from.wait(bytes), bytes);
  from.release();
}

}  // namespace comm_probe::measure::local
