// 16 bytes of elements: what one thread loads, adds and stores at a time. Sums are kept in f32 and
// rounded to the element's type once, when they are stored.
//
// The elements behind the last whole pack (any count works) are handled one by one, by the thread
// that would have handled their pack: nothing behind the last one is read or written, and the path
// of whole packs has no branch for them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "measure/engines/cuda/all_reduce_call.h"

namespace comm_probe::measure::cuda {

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(__half value) { return __half2float(value); }
__device__ inline float widened(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline void round_to(float value, float& out) { out = value; }
__device__ inline void round_to(float value, __half& out) { out = __float2half_rn(value); }
__device__ inline void round_to(float value, __nv_bfloat16& out) {
  out = __float2bfloat16_rn(value);
}

// `kCount` elements; a whole pack, or one element.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Elements {
  T at[kCount];
};
template <class T>
inline constexpr int kPerPack = kPackBytes / static_cast<int>(sizeof(T));

template <class T, int kCount>
struct Sum {
  float at[kCount];

  __device__ void start(const Elements<T, kCount>& first) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) at[i] = widened(first.at[i]);
  }
  // __fadd_rn: never contracted, so that the order alone decides the bits.
  __device__ void add(const Elements<T, kCount>& next) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) at[i] = __fadd_rn(at[i], widened(next.at[i]));
  }
  __device__ Elements<T, kCount> rounded() const {
    Elements<T, kCount> result;
#pragma unroll
    for (int i = 0; i < kCount; ++i) round_to(at[i], result.at[i]);
    return result;
  }
};

// The whole packs from element `begin` (a multiple of a pack) up to `end`, and what is left of the
// last one.
template <class T>
struct Span {
  std::uint64_t begin;
  std::uint64_t packs;
  int rest;

  __device__ Span(std::uint64_t begin, std::uint64_t end)
      : begin(begin),
        packs((end - begin) / kPerPack<T>),
        rest(static_cast<int>((end - begin) % kPerPack<T>)) {}
};

// Calls visit(first element, how many as a constant) for everything of `span` that this thread
// handles: the same pack on every rank, so that meeting the block of the same number is enough.
template <int kCount>
struct Count {
  static constexpr int value = kCount;
};
template <class T, class Visit>
__device__ inline void for_own(const Span<T>& span, Visit visit) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t pack = first;
  for (; pack < span.packs; pack += step)
    visit(span.begin + pack * kPerPack<T>, Count<kPerPack<T>>());
  if (pack == span.packs) {
#pragma unroll 1
    for (int i = 0; i < span.rest; ++i) visit(span.begin + pack * kPerPack<T> + i, Count<1>());
  }
}

template <class T, int kCount>
__device__ inline Elements<T, kCount> load(const void* memory, std::uint64_t element,
                                           Count<kCount>) {
  return *reinterpret_cast<const Elements<T, kCount>*>(static_cast<const T*>(memory) + element);
}
template <class T, int kCount>
__device__ inline void store(void* memory, std::uint64_t element,
                             const Elements<T, kCount>& value) {
  *reinterpret_cast<Elements<T, kCount>*>(static_cast<T*>(memory) + element) = value;
}

// A message of `count` elements in as many slices as there are ranks, all but the last ones of
// `length` elements, a multiple of a pack.
template <class T>
struct Slices {
  std::uint64_t length;
  std::uint64_t count;

  __device__ Slices(std::uint64_t count, int parts) : count(count) {
    const std::uint64_t packs = (count + kPerPack<T> - 1) / kPerPack<T>;
    length = (packs + parts - 1) / parts * kPerPack<T>;
  }
  __device__ std::uint64_t begin(int slice) const {
    const std::uint64_t at = length * slice;
    return at < count ? at : count;
  }
  __device__ Span<T> span(int slice) const { return Span<T>(begin(slice), begin(slice + 1)); }
};

}  // namespace comm_probe::measure::cuda
