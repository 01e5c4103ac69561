// Three ways to sum a message over the ranks, as one block of one rank does its part. The same
// thread of the same block handles the same pack on every rank, so that meeting the block of the
// same number is all the waiting there is. Order of the sums:
//  - one_shot: every rank reads all inputs and adds them in the order of ranks 0, 1, ...: the same
//    bits everywhere.
//  - two_shot: slice q is summed by rank q alone, in that same order, and copied: the same bits
//    everywhere, and those of one_shot.
//  - ring: slice q is summed along the ring from rank q on, rounded to the element's type at each
//    hop (that is what travels), and copied: the same bits everywhere.
#pragma once

#include "flag_barrier.cuh"
#include "pack.cuh"

namespace comm_probe::measure::cuda {

// Asks at every load and addition whether there is such a rank.
inline constexpr int kAnyRanks = -kMostRanks;

// A kernel for kRanks also serves one rank less: only the last load and addition are asked about.
template <int kRanks>
__device__ inline bool takes_part(const AllReduceCall& call, int rank) {
  if constexpr (kRanks == kAnyRanks) return rank < call.ranks;
  return rank < kRanks - 1 || call.ranks == kRanks;
}
template <int kRanks>
inline constexpr int kLoads = kRanks == kAnyRanks ? kMostRanks : kRanks;

// The addresses of one buffer of every rank, in registers. Made before a barrier: the parameters of
// a launch are not yet in the constant cache, and fetching them while the others are waited for
// costs nothing.
template <int kRanks>
struct Addresses {
  const void* of[kLoads<kRanks>];

  template <class AddressOf>
  __device__ explicit Addresses(AddressOf address_of) {
#pragma unroll
    for (int rank = 0; rank < kLoads<kRanks>; ++rank) {
      of[rank] = address_of(rank);
      asm volatile("" : "+l"(of[rank]));  // here and not where it is used
    }
  }
};

// All loads are under way before the first is used.
template <class T, int kRanks, int kCount>
__device__ inline Elements<T, kCount> sum_of(const AllReduceCall& call,
                                             const Addresses<kRanks>& inputs, std::uint64_t element,
                                             Count<kCount> how_many) {
  Elements<T, kCount> loaded[kLoads<kRanks>];
#pragma unroll
  for (int rank = 0; rank < kLoads<kRanks>; ++rank)
    if (takes_part<kRanks>(call, rank)) loaded[rank] = load<T>(inputs.of[rank], element, how_many);
  Sum<T, kCount> sum;
  sum.start(loaded[0]);
#pragma unroll
  for (int rank = 1; rank < kLoads<kRanks>; ++rank)
    if (takes_part<kRanks>(call, rank)) sum.add(loaded[rank]);
  return sum.rounded();
}

// In place the inputs are copied first: a rank that is done would overwrite what others still read.
// The copy lies in memory that the two other algorithms do not use.
template <class T, int kRanks, class Disturbance>
__device__ bool one_shot(const AllReduceCall& call, int rank, Block<Disturbance>& block) {
  const Span<T> message(0, call.count);
  void* const recv = call.recv[rank];
  const bool is_in_place = call.send[rank] == recv;
  if (is_in_place)
    for_own<T>(message, [&](std::uint64_t at, auto how_many) {
      store<T>(call.staged[rank], at, load<T>(call.send[rank], at, how_many));
    });
  const Addresses<kRanks> inputs(
      [&](int q) -> const void* { return is_in_place ? call.staged[q] : call.send[q]; });
  // Ordered: publishes the staged copy, and the input itself where an earlier part of this kernel
  // has written it. Measured against kRelaxed: docs/measured/h200-custom-allreduce.md.
  if (!block.template meet<Order::kOrdered>()) return false;
  for_own<T>(message, [&](std::uint64_t at, auto how_many) {
    store<T>(recv, at, sum_of<T, kRanks>(call, inputs, at, how_many));
  });
  // Relaxed: only keeps the input (or its copy) from being overwritten while it is read.
  return block.template meet<Order::kRelaxed>();
}

// Every rank's slice, in the order of the ranks.
template <class T, int kRanks>
__device__ inline void gather(const AllReduceCall& call, const Addresses<kRanks>& summed,
                              void* recv) {
  const Slices<T> slices(call.count, call.ranks);
  for_own<T>(Span<T>(0, slices.length), [&](std::uint64_t at, auto how_many) {
    Elements<T, decltype(how_many)::value> loaded[kLoads<kRanks>];
#pragma unroll
    for (int q = 0; q < kLoads<kRanks>; ++q)
      if (takes_part<kRanks>(call, q)) loaded[q] = load<T>(summed.of[q], at, how_many);
#pragma unroll
    for (int q = 0; q < kLoads<kRanks>; ++q) {
      if (!takes_part<kRanks>(call, q)) continue;
      const std::uint64_t to = slices.length * q + at;
      if (to + how_many.value <= call.count) {
        store<T>(recv, to, loaded[q]);
      } else {
#pragma unroll
        for (int i = 0; i < how_many.value; ++i)
          if (to + i < call.count) store<T>(recv, to + i, Elements<T, 1>{{loaded[q].at[i]}});
      }
    }
  });
}

// Needs no third barrier: when a block writes its slice again, in the next call, it has met all
// peers at that call's first barrier, so that they have read the slice of this one; and an input is
// read before the second barrier only.
template <class T, int kRanks, class Disturbance>
__device__ bool two_shot(const AllReduceCall& call, int rank, Block<Disturbance>& block) {
  const Slices<T> slices(call.count, call.ranks);
  const Span<T> own = slices.span(rank);
  void* const recv = call.recv[rank];
  void* const sums = call.slices[rank];
  const Addresses<kRanks> inputs([&](int q) { return call.send[q]; });
  // Ordered: as in one_shot.
  if (!block.template meet<Order::kOrdered>()) return false;
  for_own<T>(own, [&](std::uint64_t at, auto how_many) {
    store<T>(sums, at - own.begin, sum_of<T, kRanks>(call, inputs, at, how_many));
  });
  const Addresses<kRanks> summed([&](int q) -> const void* { return call.slices[q]; });
  // Ordered: publishes the slice.
  if (!block.template meet<Order::kOrdered>()) return false;
  gather<T, kRanks>(call, summed, recv);
  return true;
}

// What a rank pushes in step s of the first round lands in slot s of the next rank, finished slices
// in its result. No barrier: a rank gets its last finished slice only after the next rank has read
// all its slots (that slice is the one which the next rank has finished), so that a slot is free
// when the next call writes it; and a result is written by others only after its rank has put its
// own input of that slice into the sum.
template <class T, class Disturbance>
__device__ bool ring(const AllReduceCall& call, int rank, Block<Disturbance>& block) {
  const Slices<T> slices(call.count, call.ranks);
  const int ranks = call.ranks, after = block.after();
  const std::uint32_t before_call = block.messages();
  const void* const send = call.send[rank];
  void* const recv = call.recv[rank];
  void* const next_recv = call.recv[after];
  const void* const own_slots = call.slots[rank];
  void* const next_slots = call.slots[after];
  const auto slice_of_step = [&](int step) { return ((rank - step) % ranks + ranks) % ranks; };
  for (int step = 0; step < ranks; ++step) {
    if (step > 0 && !block.pull(before_call + step)) return false;
    const Span<T> slice = slices.span(slice_of_step(step));
    const std::uint64_t slot = step * slices.length;
    for_own<T>(slice, [&](std::uint64_t at, auto how_many) {
      Elements<T, decltype(how_many)::value> value = load<T>(send, at, how_many);
      if (step > 0) {
        Sum<T, decltype(how_many)::value> sum;
        sum.start(load<T>(own_slots, slot - slices.length + at - slice.begin, how_many));
        sum.add(value);
        value = sum.rounded();
      }
      if (step < ranks - 1) {
        store<T>(next_slots, slot + at - slice.begin, value);
      } else {
        store<T>(recv, at, value);
        store<T>(next_recv, at, value);
      }
    });
    block.push();
  }
  for (int step = ranks; step < 2 * ranks - 2; ++step) {
    if (!block.pull(before_call + step)) return false;
    for_own<T>(slices.span(slice_of_step(step)), [&](std::uint64_t at, auto how_many) {
      store<T>(next_recv, at, load<T>(recv, at, how_many));
    });
    block.push();
  }
  return block.pull(before_call + 2 * ranks - 2);
}

// The waiting of each algorithm and nothing else: what no data can be moved in less than.
template <class Disturbance>
__device__ bool one_shot_waits(const AllReduceCall&, int, Block<Disturbance>& block) {
  return block.template meet<Order::kOrdered>() && block.template meet<Order::kRelaxed>();
}
template <class Disturbance>
__device__ bool two_shot_waits(const AllReduceCall&, int, Block<Disturbance>& block) {
  return block.template meet<Order::kOrdered>() && block.template meet<Order::kOrdered>();
}
template <class Disturbance>
__device__ bool ring_waits(const AllReduceCall& call, int, Block<Disturbance>& block) {
  const std::uint32_t before_call = block.messages();
  for (int message = 1; message <= 2 * call.ranks - 2; ++message) {
    block.push();
    if (!block.pull(before_call + message)) return false;
  }
  return true;
}

}  // namespace comm_probe::measure::cuda
