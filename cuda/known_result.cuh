// Is an element of a finished all_reduce right, where the inputs are known_input.cuh's?
//
// It is if (1) it has the bits that the sum in the algorithm's fixed order has, which makes it the
// same on every rank, and (2) it is as near to the exact sum, taken in double (which holds sums of
// up to 8 such inputs exactly), as rounding allows: with u = 2^-24 and the type's own unit v (0 of
// float), A the sum of absolute values, S the exact sum, and n ranks,
//   one-shot, two-shot:  (n-1) u A + v (|S| + (n-1) u A)       rounded to the type once
//   ring:                (n-1) (u + v) (1 + 9 (u + v)) A       rounded at each hop, n <= 8
// and half the smallest number of the type for each rounding.
#pragma once

#include "known_input.cuh"
#include "measure/engines/cuda/all_reduce_check.h"
#include "pack.cuh"

namespace comm_probe::measure::cuda {

template <class T>
struct Unit;
template <>
struct Unit<float> {
  static constexpr double kRelative = 0, kSmallest = 0;
};
template <>
struct Unit<__half> {
  static constexpr double kRelative = 0x1p-11, kSmallest = 0x1p-24;
};
template <>
struct Unit<__nv_bfloat16> {
  static constexpr double kRelative = 0x1p-8, kSmallest = 0x1p-133;
};
constexpr double kUnit = 0x1p-24;  // of float

template <class T>
__device__ T input_of(std::uint64_t seed, int rank, std::uint64_t index) {
  T value;
  round_to(random_element(seed, rank, index), value);
  return value;
}

template <class T>
__device__ float rounded(float value) {
  T out;
  round_to(value, out);
  return widened(out);
}

// Which rank's input a sum begins with: the order goes up from there.
template <class T>
__device__ int first_of(const AllReduceCall& call, const CheckOrder& order, std::uint64_t index) {
  if (!order.is_ring) return 0;
  return static_cast<int>(index / Slices<T>(call.count, call.ranks).length);
}

template <class T>
__device__ __noinline__ bool is_right(const AllReduceCall& call, const CheckOrder& order,
                                      std::uint64_t index, float got) {
  const int first = first_of<T>(call, order, index);
  float sum = widened(input_of<T>(order.seed, first, index));
  double exact = sum, size = fabs(exact);
  for (int k = 1; k < call.ranks; ++k) {
    const float next = widened(input_of<T>(order.seed, (first + k) % call.ranks, index));
    sum = __fadd_rn(sum, next);
    if (order.is_ring) sum = rounded<T>(sum);
    exact += next;
    size += fabs(static_cast<double>(next));
  }
  const double n = call.ranks, v = Unit<T>::kRelative, half = Unit<T>::kSmallest / 2;
  const double added = (n - 1) * kUnit * size;
  const double bound = order.is_ring ? (n - 1) * ((kUnit + v) * (1 + 9 * (kUnit + v)) * size + half)
                                     : added + v * (fabs(exact) + added) + half;
  return __float_as_uint(got) == __float_as_uint(rounded<T>(sum)) && fabs(got - exact) <= bound;
}

}  // namespace comm_probe::measure::cuda
