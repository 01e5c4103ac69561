// Fills the inputs of `bench all_reduce --backend cuda` and checks the results, where they lie.
//
// An element is right if (1) it has the bits that the sum in the algorithm's fixed order has, which
// makes it the same on every rank, and (2) it is as near to the exact sum, taken in double (which
// holds sums of up to 8 such inputs exactly), as rounding allows: with u = 2^-24 and the type's own
// unit v (0 of float), A the sum of absolute values and n ranks,
//   one-shot, two-shot:  (n-1) u A + v (|S| + (n-1) u A)       rounded to the type once
//   ring:                (n-1) (u + v) (1 + u + v)^n A         rounded at each hop
// and half the smallest number of the type for each rounding.
#include "known_input.cuh"
#include "measure/engines/cuda/all_reduce_check.h"
#include "pack.cuh"

using namespace comm_probe::measure::cuda;

namespace {

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
constexpr double kUnit = 0x1p-24;

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
  const Slices slices(Packs<T>(call.count).all(), call.ranks);
  return static_cast<int>(index / Pack<T>::kElements / slices.length);
}

template <class T>
__device__ bool is_right(const AllReduceCall& call, const CheckOrder& order, std::uint64_t index,
                         float got) {
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
  const double bound = order.is_ring
                           ? (n - 1) * ((kUnit + v) * pow(1 + kUnit + v, n) * size + half)
                           : added + v * (fabs(exact) + added) + half;
  return __float_as_uint(got) == __float_as_uint(rounded<T>(sum)) && fabs(got - exact) <= bound;
}

template <class T>
__device__ void fill(const AllReduceCall& call, std::uint64_t seed) {
  const int rank = call.first_rank + static_cast<int>(blockIdx.y);
  T* const send = static_cast<T*>(const_cast<void*>(call.send[rank]));
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.count;
       i += step)
    send[i] = input_of<T>(seed, rank, i);
}

template <class T>
__device__ void check(const AllReduceCall& call, const CheckOrder& order,
                      unsigned long long* wrong) {
  const int rank = call.first_rank + static_cast<int>(blockIdx.y);
  const T* const recv = static_cast<const T*>(call.recv[rank]);
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long own = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.count;
       i += step)
    own += is_right<T>(call, order, i, widened(recv[i])) ? 0 : 1;
  if (own != 0) atomicAdd(wrong, own);
}

}  // namespace

#define OF_TYPE(T, NAME)                                                                \
  extern "C" __global__ void fill_##NAME(const __grid_constant__ AllReduceCall call,    \
                                         std::uint64_t seed) {                          \
    fill<T>(call, seed);                                                                \
  }                                                                                     \
  extern "C" __global__ void check_##NAME(const __grid_constant__ AllReduceCall call,   \
                                          CheckOrder order, unsigned long long* wrong) { \
    check<T>(call, order, wrong);                                                       \
  }

OF_TYPE(float, float)
OF_TYPE(__half, half)
OF_TYPE(__nv_bfloat16, bfloat16)
