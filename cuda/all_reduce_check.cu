// Fills the inputs of `bench all_reduce --backend cuda` and checks the results, where they lie
// (known_result.cuh says what is right).
#include "known_result.cuh"

using namespace comm_probe::measure::cuda;

namespace {

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

#define OF_TYPE(T, NAME)                                                                 \
  extern "C" __global__ void fill_##NAME(const __grid_constant__ AllReduceCall call,     \
                                         std::uint64_t seed) {                           \
    fill<T>(call, seed);                                                                 \
  }                                                                                      \
  extern "C" __global__ void check_##NAME(const __grid_constant__ AllReduceCall call,    \
                                          CheckOrder order, unsigned long long* wrong) { \
    check<T>(call, order, wrong);                                                        \
  }

OF_TYPE(float, float)
OF_TYPE(__half, half)
OF_TYPE(__nv_bfloat16, bfloat16)
