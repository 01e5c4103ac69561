// One collective call of one rank: what is asked of an engine, whatever moves the bytes.
#pragma once

#include <cstddef>

#include "measure/element.h"
#include "model/collective.h"

namespace comm_probe::measure {

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

// Elements that a rank's buffers hold.
std::size_t send_count(const Call& call, int ranks);
std::size_t recv_count(const Call& call, int ranks);
// A rank's two buffers become one in place: `call` with the addresses that this means inside
// `buffer` (which holds the larger of both).
Call in_place(Call call, int rank, std::byte* buffer);

}  // namespace comm_probe::measure
