// 16 bytes of elements: what one thread loads, adds and stores at a time. Sums are kept in f32 and
// rounded to the element's type once, when they are stored.
//
// The last pack of a message may be cut short (any count of elements works): its elements are then
// moved one by one, and nothing behind the last one is read or written.
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

template <class T>
struct alignas(kPackBytes) Pack {
  static constexpr int kElements = kPackBytes / static_cast<int>(sizeof(T));
  T element[kElements];
};

template <class T>
struct Sum {
  float element[Pack<T>::kElements];

  __device__ void start(const Pack<T>& pack) {
#pragma unroll
    for (int i = 0; i < Pack<T>::kElements; ++i) element[i] = widened(pack.element[i]);
  }
  // __fadd_rn: never contracted, so that the order alone decides the bits.
  __device__ void add(const Pack<T>& pack) {
#pragma unroll
    for (int i = 0; i < Pack<T>::kElements; ++i)
      element[i] = __fadd_rn(element[i], widened(pack.element[i]));
  }
  __device__ Pack<T> rounded() const {
    Pack<T> pack;
#pragma unroll
    for (int i = 0; i < Pack<T>::kElements; ++i) round_to(element[i], pack.element[i]);
    return pack;
  }
};

// The packs of a message of `count` elements.
template <class T>
struct Packs {
  std::uint64_t whole;
  int rest;  // elements of the one that is cut short; 0: there is none

  __device__ explicit Packs(std::uint64_t count)
      : whole(count / Pack<T>::kElements), rest(static_cast<int>(count % Pack<T>::kElements)) {}
  __device__ std::uint64_t all() const { return whole + (rest != 0 ? 1 : 0); }
  __device__ bool is_short(std::uint64_t pack) const { return pack >= whole; }

  // `pack` counts from the begin of the message, `at` from the begin of the memory.
  __device__ Pack<T> load(const void* memory, std::uint64_t at, std::uint64_t pack) const {
    if (!is_short(pack)) return static_cast<const Pack<T>*>(memory)[at];
    Pack<T> loaded = {};
#pragma unroll
    for (int i = 0; i < Pack<T>::kElements; ++i)
      if (i < rest) loaded.element[i] = static_cast<const T*>(memory)[at * Pack<T>::kElements + i];
    return loaded;
  }
  __device__ void store(void* memory, std::uint64_t at, std::uint64_t pack,
                        const Pack<T>& value) const {
    if (!is_short(pack)) {
      static_cast<Pack<T>*>(memory)[at] = value;
      return;
    }
#pragma unroll
    for (int i = 0; i < Pack<T>::kElements; ++i)
      if (i < rest) static_cast<T*>(memory)[at * Pack<T>::kElements + i] = value.element[i];
  }
};

// Slice q of a message in `ranks` parts: packs begin..end of the message.
struct Slices {
  std::uint64_t length;  // of the longest
  std::uint64_t packs;

  __device__ Slices(std::uint64_t packs, int ranks)
      : length((packs + ranks - 1) / ranks), packs(packs) {}
  __device__ std::uint64_t begin(int slice) const {
    const std::uint64_t at = length * slice;
    return at < packs ? at : packs;
  }
  __device__ std::uint64_t size(int slice) const { return begin(slice + 1) - begin(slice); }
};

}  // namespace comm_probe::measure::cuda
