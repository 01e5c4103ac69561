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

// Packs of a part of `size` packs that this thread handles: for (i = first; i < size; i += step).
__device__ inline std::uint64_t first_pack() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::uint64_t pack_step() { return std::uint64_t{gridDim.x} * blockDim.x; }

// A kernel for kRanks also serves one rank less: only the last load and addition are asked about.
template <int kRanks>
__device__ inline bool takes_part(const AllReduceCall& call, int rank) {
  return rank < kRanks - 1 || call.ranks == kRanks;
}

// All loads are under way before the first is used. `input_of` names a rank's buffer.
template <class T, int kRanks, class InputOf>
__device__ inline Pack<T> sum_of(const AllReduceCall& call, std::uint64_t pack, InputOf input_of) {
  const Packs<T> packs(call.count);
  Pack<T> loaded[kRanks];
#pragma unroll
  for (int rank = 0; rank < kRanks; ++rank)
    if (takes_part<kRanks>(call, rank)) loaded[rank] = packs.load(input_of(rank), pack, pack);
  Sum<T> sum;
  sum.start(loaded[0]);
#pragma unroll
  for (int rank = 1; rank < kRanks; ++rank)
    if (takes_part<kRanks>(call, rank)) sum.add(loaded[rank]);
  return sum.rounded();
}

// In place the inputs are copied first: a rank that is done would overwrite what others still read.
// The copy lies in memory that the two other algorithms do not use.
template <class T, int kRanks, class Disturbance>
__device__ bool one_shot(const AllReduceCall& call, int rank, Block<Disturbance>& block) {
  const Packs<T> packs(call.count);
  const bool is_in_place = call.send[rank] == call.recv[rank];
  if (is_in_place)
    for (std::uint64_t i = first_pack(); i < packs.all(); i += pack_step())
      packs.store(call.staged[rank], i, i, packs.load(call.send[rank], i, i));
  // Ordered: publishes the staged copy, and the input itself where an earlier part of this kernel
  // has written it. Measured against kRelaxed: docs/measured/h200-custom-allreduce.md.
  if (!block.template meet<Order::kOrdered>()) return false;
  const auto input_of = [&](int q) -> const void* {
    return is_in_place ? call.staged[q] : call.send[q];
  };
  for (std::uint64_t i = first_pack(); i < packs.all(); i += pack_step())
    packs.store(call.recv[rank], i, i, sum_of<T, kRanks>(call, i, input_of));
  // Relaxed: only keeps the input (or its copy) from being overwritten while it is read.
  return block.template meet<Order::kRelaxed>();
}

// Needs no third barrier: when a block writes its slice again, in the next call, it has met all
// peers at that call's first barrier, so that they have read the slice of this one; and an input is
// read before the second barrier only.
template <class T, int kRanks, class Disturbance>
__device__ bool two_shot(const AllReduceCall& call, int rank, Block<Disturbance>& block) {
  const Packs<T> packs(call.count);
  const Slices slices(packs.all(), call.ranks);
  // Ordered: as in one_shot.
  if (!block.template meet<Order::kOrdered>()) return false;
  const std::uint64_t begin = slices.begin(rank);
  const auto input_of = [&](int q) { return call.send[q]; };
  for (std::uint64_t i = first_pack(); i < slices.size(rank); i += pack_step())
    packs.store(call.slices[rank], i, begin + i, sum_of<T, kRanks>(call, begin + i, input_of));
  // Ordered: publishes the slice.
  if (!block.template meet<Order::kOrdered>()) return false;
  for (std::uint64_t i = first_pack(); i < slices.length; i += pack_step()) {
    Pack<T> loaded[kRanks];
#pragma unroll
    for (int q = 0; q < kRanks; ++q)
      if (takes_part<kRanks>(call, q) && i < slices.size(q))
        loaded[q] = packs.load(call.slices[q], i, slices.begin(q) + i);
#pragma unroll
    for (int q = 0; q < kRanks; ++q)
      if (takes_part<kRanks>(call, q) && i < slices.size(q))
        packs.store(call.recv[rank], slices.begin(q) + i, slices.begin(q) + i, loaded[q]);
  }
  return true;
}

// What a rank pushes in step s of the first round lands in slot s of the next rank, finished slices
// in its result. No barrier: a rank gets its last finished slice only after the next rank has read
// all its slots (that slice is the one which the next rank has finished), so that a slot is free
// when the next call writes it; and a result is written by others only after its rank has put its
// own input of that slice into the sum.
template <class T, class Disturbance>
__device__ bool ring(const AllReduceCall& call, int rank, Block<Disturbance>& block) {
  const Packs<T> packs(call.count);
  const Slices slices(packs.all(), call.ranks);
  const int ranks = call.ranks, after = block.after();
  const auto slice_of_step = [&](int step) { return ((rank - step) % ranks + ranks) % ranks; };
  const std::uint32_t before_call = block.messages();
  Pack<T>* const own_slots = static_cast<Pack<T>*>(call.slots[rank]);
  Pack<T>* const next_slots = static_cast<Pack<T>*>(call.slots[after]);
  for (int step = 0; step < ranks; ++step) {
    if (step > 0 && !block.pull(before_call + step)) return false;
    const int slice = slice_of_step(step);
    const std::uint64_t begin = slices.begin(slice);
    for (std::uint64_t i = first_pack(); i < slices.size(slice); i += pack_step()) {
      Pack<T> value = packs.load(call.send[rank], begin + i, begin + i);
      if (step > 0) {
        Sum<T> sum;
        sum.start(own_slots[(step - 1) * slices.length + i]);
        sum.add(value);
        value = sum.rounded();
      }
      if (step < ranks - 1) {
        next_slots[step * slices.length + i] = value;
      } else {
        packs.store(call.recv[rank], begin + i, begin + i, value);
        packs.store(call.recv[after], begin + i, begin + i, value);
      }
    }
    block.push();
  }
  for (int step = ranks; step < 2 * ranks - 2; ++step) {
    if (!block.pull(before_call + step)) return false;
    const int slice = slice_of_step(step);
    const std::uint64_t begin = slices.begin(slice);
    for (std::uint64_t i = first_pack(); i < slices.size(slice); i += pack_step())
      packs.store(call.recv[after], begin + i, begin + i,
                  packs.load(call.recv[rank], begin + i, begin + i));
    block.push();
  }
  return block.pull(before_call + 2 * ranks - 2);
}

}  // namespace comm_probe::measure::cuda
